// Package file reads and writes the files of the program.
//
// A file is read through a [Reader], which has a limit on its size, refuses folders
// and devices, and ends when its context does, even while it waits for a pipe.
// [Lines] reads such a stream line by line, with a limit on the length of a line.
//
// A file is written through a [Writer], which replaces the file as a whole or
// leaves it as it was. The data goes to a temporary file in the same folder, is
// synced to the disk and then gets its name. A file that another process has put
// in its place meanwhile is never overwritten.
//
// The package imports the standard library and golang.org/x/sys/unix alone.
package file
