package playback

import (
	"fmt"
	"os"
	"testing"

	"wiretime/lab"
)

func TestMain(m *testing.M) {
	lab.Helper()
	if _, err := lab.Enter(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
