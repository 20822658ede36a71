//go:build !unix

package file

// nonblock is 0 where the file system has no FIFOs.
const nonblock = 0
