// Package printable makes text fit for people to read: on a terminal, in a table, in a
// picture. Names come from files and arguments, and may hold characters that a terminal
// obeys, that change the direction of the text around them, or that no XML may have. Such
// characters are replaced by escapes, as Go writes them: \x1b, \u202e. A byte that is not
// UTF-8 becomes \xff.
//
// Text is escaped where it leaves the program for people, and nowhere else. JSON and CSV are
// data for programs, and keep what names are.
//
// The package imports nothing of ours.
package printable
