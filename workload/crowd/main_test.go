package crowd

import (
	"testing"

	"wiretime/lab/labtest"
)

func TestMain(m *testing.M) {
	Helper()
	labtest.Main(m)
}
