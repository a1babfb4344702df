package runner

import (
	"testing"

	"wiretime/guest"
	"wiretime/lab/labtest"
)

func TestMain(m *testing.M) {
	guest.Init() // guests that tests boot run this program
	labtest.Main(m)
}
