package metric

import (
	"strings"
	"testing"

	"wiretime/network"
)

// TestWhatAMovingPathOffered puts the same load, of 412 ms, at several moments of a ride.
func TestWhatAMovingPathOffered(t *testing.T) {
	ride, err := network.ParseRide("r", strings.NewReader("seconds,down_kbit,up_kbit,down_ms,up_ms,link\n0,1000,500,10,20,up\n10,3000,500,10,20,up\n20,,,,,dropping\n21,1000,500,10,20,up\n60,,,,,end"))
	if err != nil {
		t.Fatal(err)
	}
	moving := network.Path{Name: "moving", Access: []network.Access{ride.Access("radio", network.Link{}, network.Link{})}}
	still := network.Path{Name: "still", Access: []network.Access{{Name: "access", Down: network.Link{Rate: 1_000_000}}}}
	traced := network.Path{Name: "traced", Access: []network.Access{{Name: "access", Down: network.Link{Trace: &network.Trace{Name: "t", Opportunities: []int64{1}}}}}}
	for _, test := range []struct {
		name  string
		path  *network.Path
		begin float64 // ms on the path's clock; below 0: the path carried no packet
		want  map[string]float64
	}{
		{"in one row", &moving, 1000, map[string]float64{"path_rate": 1, "path_outage": 0, "plt_clear": 412}},
		{"over two rows", &moving, 10_000 - 206, map[string]float64{"path_rate": 2, "path_outage": 0, "plt_clear": 412}},
		{"into an outage", &moving, 20_000 - 206, map[string]float64{"path_rate": 1.5, "path_outage": 206, "plt_clear": none}},
		{"in an outage", &moving, 20_100, map[string]float64{"path_rate": 0, "path_outage": 412, "plt_clear": none}},
		{"along a trace", &traced, 1000, map[string]float64{"path_rate": 12, "path_outage": 0, "plt_clear": 412}},
		{"on a path that stays", &still, 1000, map[string]float64{"path_rate": none, "path_outage": none, "plt_clear": none}},
		{"on a path that carried no packet", &moving, -1, map[string]float64{"path_rate": none, "path_outage": none, "plt_clear": none}},
		{"without a path", nil, 1000, map[string]float64{"path_rate": none, "path_outage": none, "plt_clear": none}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ev := h2Scene().load(t, "h2")
			ev.Path = test.path
			if test.begin >= 0 {
				ev.Epoch = ev.Timing.NavigationStart - int64(test.begin*1e6)
			}
			expect(t, ev, test.want)
		})
	}
}
