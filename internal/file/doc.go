// Package file reads and writes the files of the program.
//
// A [Reader] reads a file. It limits the size of the file, refuses folders and devices, and
// returns an error when its context ends, even while it waits for a pipe. [Lines] reads a
// stream line by line and limits the length of a line.
//
// A [Writer] writes a file. It replaces the whole file or does not change it. The data goes
// to a temporary file in the same folder, is synced to the disk, and then gets the name of
// the file. If another process has changed the file since the Writer was created, the
// Writer does not overwrite it.
//
// The package imports only the standard library and golang.org/x/sys/unix.
package file
