//go:build !race

package comm_test

const raced = 1
