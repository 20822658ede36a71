package launch

// Launcher and rank talk over two pipes, in values of encoding/gob. The launcher sends an
// order and, if the rank is to end early, a string with the reason. The rank sends reports.

// report is an event of a rank's process, as the process tells it. Its last report is of
// kind ended or failing.
type report struct {
	Kind   eventKind
	Result []byte // of ended
	Failed string // of failing: the text of the error
	Blame  blame  // of failing
}
