// Package stack finds the line of user code in the text of a goroutine's stack: the line
// that caused a panic, or the line of an endless loop. User code is code of a program that
// uses this module, such as a kernel. The package imports only the standard library.
package stack
