package sim

// Server is a serial server with a first-come, first-served queue whose service
// times are known on arrival: an engine, a port, a memory channel. It needs no
// events of its own. The zero value is idle.
type Server struct {
	free Time // when the last customer leaves

	Busy Time // in service
}

// Serve takes a customer who arrives at `at` and needs `service`, and returns
// when it is served from and to. Arrivals must be in order of time.
func (s *Server) Serve(at, service Time) (start, end Time) {
	start = max(s.free, at)
	end = start + service
	s.free = end
	s.Busy += service
	return start, end
}

// Free is when the server has no more work.
func (s *Server) Free() Time { return s.free }
