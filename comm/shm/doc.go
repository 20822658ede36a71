// Package shm is the backend of comm whose ranks are processes of one Linux machine that
// share memory. Importing the package registers the backend as "shm", the default.
//
// All memory of a run is one file in memory. The rendezvous says which file:
//
//	fd:N    memory that a launcher created with [Create] and passed on as descriptor N.
//	        It has no name and disappears with the last process.
//	name    the file kernbench.name in /dev/shm. The first rank creates it, and the last
//	        rank to join removes it.
//	/path   the same with a path chosen by the user, on a file system in memory.
//
// A rank locks a byte of the file as long as its process lives. The system releases the
// lock when the process ends in any way, so other ranks can check whether the rank is
// alive. A named file without a lock belongs to a dead run: a rank that finds it removes it
// and starts a new run. If the user has chosen the path, and the file at the path cannot be
// from a run, joining is an error and the file is not removed.
//
// The package imports comm, internal/host and golang.org/x/sys/unix. It is empty on other
// systems than Linux.
package shm
