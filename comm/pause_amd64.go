package comm

// pause executes the PAUSE instruction, a hint to the processor that the code polls.
func pause()
