// Package shm is the backend of comm whose ranks are processes of one Linux machine
// that share memory. Importing it registers it as "shm", the default.
//
// All memory of a run is one file without a disk behind it. Where it comes from is the
// rendezvous:
//
//	fd:N    memory that a launcher made with [Create] and passed on as descriptor N; it
//	        never had a name and is gone when the last process is
//	name    a file of that name below /dev/shm, which the first rank makes and the last
//	        one to join removes
//	/path   the same, at a place of the user's choosing, on a file system in memory
//
// A rank holds a lock on a byte of the file as long as it lives, however it dies, so
// that others can ask whether it is there. A named file on which nobody holds a lock
// is of a dead run: whoever finds it removes it and joins none. A file that no run can
// have left, at a path of the user's choosing, is refused and stays.
//
// The package imports comm, internal/host and golang.org/x/sys/unix, and is empty elsewhere than on
// Linux.
package shm
