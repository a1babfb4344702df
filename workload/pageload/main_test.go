package pageload

import (
	"testing"

	"wiretime/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }
