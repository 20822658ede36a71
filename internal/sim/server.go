package sim

// Server is a serial server with a first-come, first-served queue whose service
// times are known on arrival: an engine, a port, a memory channel. It needs no
// events of its own. The zero value is idle.
type Server struct {
	free Time // when the last customer leaves

	Served int64
	Busy   Time // in service
	Waited Time // from arrival to service, summed over customers
}

// Serve takes a customer who arrives at `at` and needs `service`, and returns
// when it is served from and to. Arrivals must be in order of time.
func (s *Server) Serve(at, service Time) (start, end Time) {
	start = max(s.free, at)
	end = start + service
	s.free = end
	s.Served++
	s.Busy += service
	s.Waited += start - at
	return start, end
}

// Free is when the server has no more work.
func (s *Server) Free() Time { return s.free }

// Use queues for s, is served, and returns when done.
func (p *Proc) Use(s *Server, service Time) {
	_, end := s.Serve(p.Now(), service)
	p.SleepUntil(end)
}
