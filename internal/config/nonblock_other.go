//go:build !unix

package config

// nonblock is nothing where the file system has no FIFOs.
const nonblock = 0
