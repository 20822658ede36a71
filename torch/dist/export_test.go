package dist

import "github.com/kernbench/kernbench/torch"

// Last returns the statistics of the collective or message launch that ended last.
func Last(c *torch.Context) Stats { return hostOf(c).last }
