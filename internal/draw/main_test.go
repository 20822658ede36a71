package draw

import (
	"os"
	"testing"

	"github.com/kernbench/kernbench/internal/rapidtest"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }
