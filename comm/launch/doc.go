// Package launch starts the ranks of a run and collects what they return: processes
// that are this program again, which talk over comm/shm, or goroutines over
// comm/inproc.
//
//	func init() { launch.Register("hello", hello) }
//
//	func main() {
//		launch.Child() // a process that is a rank does its job here and exits
//		results, err := launch.Run(ctx, launch.Options{Ranks: 4, Output: os.Stderr}, "hello", nil)
//		...
//	}
//
// A run ends well when all jobs have returned without an error. Otherwise, when one
// rank fails or the context ends, the others are asked to stop, which makes their waits
// fail and ends the context of their jobs, and those that have not done so after a
// moment are killed. The error has a [*RankError] for the rank that failed first, or
// the context's cause. Run returns when all its processes are gone, and they die with
// the process that called it, however that ends. Nothing of a run has a name in the
// system.
//
// What ranks do with windows is in comm, collectives are in comm/coll. The package
// imports comm, comm/inproc, comm/shm, internal/host, internal/printable and
// golang.org/x/sys/unix. Processes need Linux.
package launch
