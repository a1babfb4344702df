package workloads

import (
	"encoding/json"
	"reflect"
	"testing"

	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
	"wiretime/workload/playback"
)

func TestEachStudyWorkloadHasOne(t *testing.T) {
	names := map[string]bool{}
	for _, w := range study.Workloads() {
		k := Of(w).Kind()
		if k.Study != w || names[k.Name] {
			t.Errorf("%s: the kind is %s, of %s", w.Name, k.Name, k.Study.Name)
		}
		names[k.Name] = true
	}
}

// TestOrdersAndOutcomesSurviveJSON sends orders and outcomes to a guest and back.
func TestOrdersAndOutcomesSurviveJSON(t *testing.T) {
	page, stream := &pageload.Order{Loader: pageload.Fetch, Protocol: "h2"}, &playback.Order{Media: "clip", Seed: 7}
	for _, o := range []workload.Order{page, stream} {
		text, err := json.Marshal(Order{o})
		if err != nil {
			t.Fatal(err)
		}
		var back Order
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back.Order, o) {
			t.Errorf("%s became %+v, error %v", text, back.Order, err)
		}
	}
	text, err := json.Marshal(Outcome{&pageload.Record{Record: workload.Record{ServerLost: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	var back Outcome
	if err := json.Unmarshal(text, &back); err != nil || back.Common().ServerLost != -1 || back.Workload() != (pageload.Workload{}) {
		t.Errorf("%s became %+v, error %v", text, back.Outcome, err)
	}
}

// TestAnOrderOfAnUnknownWorkloadIsAnError decodes what no workload has encoded.
func TestAnOrderOfAnUnknownWorkloadIsAnError(t *testing.T) {
	for _, text := range []string{`{}`, `{"":{}}`, `[]`, `{"Page":7}`} {
		if err := json.Unmarshal([]byte(text), &Order{}); err == nil {
			t.Errorf("%s was decoded", text)
		}
	}
}
