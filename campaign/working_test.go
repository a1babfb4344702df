package campaign

import (
	"testing"

	"wiretime/store"
)

// TestDescriptions: a worker's description is stored before its first load and when it changes. A coordinator that takes over and has
// not heard of the worker yet leaves it alone.
func TestDescriptions(t *testing.T) {
	f := plannedCampaign(t)
	st, err := store.Open(f.dir, store.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	taken := func() *Coordinator {
		t.Helper()
		c := NewCoordinator(Config{Store: st, Run: store.Run{ID: 1}})
		if err := c.recallWorkers(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	describe := func(c *Coordinator, want string) {
		t.Helper()
		if err := c.describe("a"); err != nil {
			t.Fatal(err)
		}
		workers, err := st.Workers(1)
		if err != nil || len(workers) != 1 || string(workers[0].Described) != want {
			t.Errorf("the store has %+v, %v, want the description %s", workers, err, want)
		}
	}
	first := taken()
	describe(first, `{"host":"","wiretime":""}`) // it has said nothing yet
	first.states["a"] = seen{State: State{Host: "one", Version: "v"}}
	describe(first, `{"host":"one","wiretime":"v"}`)
	second := taken()
	describe(second, `{"host":"one","wiretime":"v"}`)
	second.states["a"] = seen{State: State{Host: "two", Version: "v"}}
	describe(second, `{"host":"two","wiretime":"v"}`)
}
