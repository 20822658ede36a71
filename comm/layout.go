package comm

// Layout is where the parts of a rank's window lie.
type Layout struct {
	Signals     int   // how many
	SignalEvery int64 // bytes from one to the next; the first is at 0
	Data        int64 // offset of the bytes
	Bytes       int64 // of all, signals included, in whole words
}

// WindowLayout is that of a window of so many bytes and signals. Signals are words on
// lines of the cache of their own, and the last bytes are a whole word, so that each can
// be changed at once. Nothing depends on how many ranks there are.
func WindowLayout(bytes int64, signals int) Layout {
	return Layout{Signals: signals, SignalEvery: SignalBytes, Data: signalBytes(signals), Bytes: signalBytes(signals) + (bytes+7)&^7}
}

// SignalBytes is the distance of signals in a window.
const SignalBytes = line

func signalAt(signal int) int64 { return int64(signal) * SignalBytes }

func signalBytes(signals int) int64 { return signalAt(signals) }
