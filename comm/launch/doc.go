// Package launch starts the ranks of a run and collects their results. Ranks are processes
// that run this program again and communicate through comm/shm, or goroutines that
// communicate through comm/inproc.
//
//	func init() { launch.Register("hello", hello) }
//
//	func main() {
//		launch.Child() // in the process of a rank, runs the job and exits
//		results, err := launch.Run(ctx, launch.Options{Ranks: 4, Output: os.Stderr}, "hello", nil)
//		...
//	}
//
// A run succeeds when all jobs have returned without an error. When a rank fails or the
// context ends, the launcher asks the other ranks to stop: their waits fail, and the
// contexts of their jobs end. Ranks that have not stopped after 500 ms are killed. The
// error has a [*RankError] for the rank that failed first, or the cause of the context. Run
// returns when all its processes have ended. If the process that called Run ends in any
// way, the kernel kills the processes of the ranks. A run creates no named files or shared
// memory.
//
// Windows are in package comm, collectives in comm/coll. The package imports comm,
// comm/inproc, comm/shm, internal/host, internal/printable and golang.org/x/sys/unix.
// Processes need Linux.
package launch
