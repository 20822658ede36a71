// Package stack finds an author's line in the text of a goroutine's stack: where a panic
// came from, or where a loop goes round. It imports the standard library alone.
package stack
