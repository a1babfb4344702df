package firefox

import (
	"encoding/json"
	"os"
	"testing"
)

func TestPrefs(t *testing.T) {
	b := newBench(t, true)
	var tree struct {
		Contexts []struct {
			Context string `json:"context"`
		} `json:"contexts"`
	}
	must(t, b.browser.session.call(t.Context(), "browsingContext.getTree", object{"moz:scope": "chrome", "maxDepth": 0}, &tree))
	var names []string
	must(t, json.Unmarshal([]byte(os.Getenv("PREFS")), &names))
	text, _ := json.Marshal(names)
	s, err := b.browser.session.evaluate(t.Context(), tree.Contexts[0].Context, `(async()=>{ let out={}; for (const root of `+string(text)+`) for (const n of [root,...Services.prefs.getChildList(root+".")]) { const ty=Services.prefs.getPrefType(n); out[n]= ty==32?Services.prefs.getStringPref(n):ty==64?Services.prefs.getIntPref(n):ty==128?Services.prefs.getBoolPref(n):null }; return JSON.stringify(out) })()`)
	t.Log(s, err)
	s, err = b.browser.session.evaluate(t.Context(), tree.Contexts[0].Context, `(async()=>{ const u=ChromeUtils.importESModule("resource://services-settings/Utils.sys.mjs"); return u.Utils.SERVER_URL+" "+Cu.isInAutomation })()`)
	t.Log(s, err)
}
