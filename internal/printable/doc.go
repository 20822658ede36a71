// Package printable formats text for people to read: on a terminal, in a table, in a
// picture. Names come from files and arguments. They may contain characters that control a
// terminal, that change the direction of the text around them, or that XML does not allow.
// Such characters are replaced by escapes as in Go: \x1b, \u202e. A byte that is not valid
// UTF-8 becomes an escape such as \xff.
//
// Text for people is escaped where it leaves the program, and nowhere else. JSON and CSV
// are data for programs, and have names without escapes.
//
// Of this module, the package imports only internal/lists.
package printable
