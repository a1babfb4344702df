package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"wiretime/campaign/broker"
	"wiretime/interrupt"
	"wiretime/needtest"
)

// These are the parts of Kubernetes objects that are compared with the program. TestManifests checks the rest.
type (
	metadata struct {
		Name   string            `yaml:"name"`
		Labels map[string]string `yaml:"labels"`
	}
	selector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}
	statefulSet struct {
		Kind     string   `yaml:"kind"`
		Metadata metadata `yaml:"metadata"`
		Spec     struct {
			Replicas int      `yaml:"replicas"`
			Selector selector `yaml:"selector"`
			Template struct {
				Metadata metadata `yaml:"metadata"`
				Spec     pod      `yaml:"spec"`
			} `yaml:"template"`
		} `yaml:"spec"`
	}
	pod struct {
		TerminationGracePeriodSeconds int         `yaml:"terminationGracePeriodSeconds"` // s
		Containers                    []container `yaml:"containers"`
		Volumes                       []struct {
			Name string `yaml:"name"`
		} `yaml:"volumes"`
		SecurityContext struct {
			RunAsNonRoot   bool `yaml:"runAsNonRoot"`
			RunAsUser      int  `yaml:"runAsUser"`
			RunAsGroup     int  `yaml:"runAsGroup"`
			SeccompProfile struct {
				Type string `yaml:"type"`
			} `yaml:"seccompProfile"`
		} `yaml:"securityContext"`
	}
	container struct {
		Args      []string `yaml:"args"`
		Resources struct {
			Requests map[string]string `yaml:"requests"`
			Limits   map[string]string `yaml:"limits"`
		} `yaml:"resources"`
		VolumeMounts    []mount `yaml:"volumeMounts"`
		SecurityContext struct {
			AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"` // true if it is not there
			ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
			Privileged               bool  `yaml:"privileged"`
			Capabilities             struct {
				Add  []string `yaml:"add"`
				Drop []string `yaml:"drop"`
			} `yaml:"capabilities"`
		} `yaml:"securityContext"`
	}
	mount struct {
		Name        string `yaml:"name"`
		MountPath   string `yaml:"mountPath"`
		SubPathExpr string `yaml:"subPathExpr"`
		ReadOnly    bool   `yaml:"readOnly"`
	}
	networkPolicy struct {
		Spec struct {
			PodSelector selector `yaml:"podSelector"`
		} `yaml:"spec"`
	}
	scaledObject struct {
		Spec struct {
			ScaleTargetRef struct {
				Kind string `yaml:"kind"`
				Name string `yaml:"name"`
			} `yaml:"scaleTargetRef"`
			MaxReplicaCount int `yaml:"maxReplicaCount"`
			Triggers        []struct {
				Metadata map[string]string `yaml:"metadata"`
			} `yaml:"triggers"`
		} `yaml:"spec"`
	}
	kustomization struct {
		Resources []string `yaml:"resources"`
	}
)

// TestKubernetes: what a worker gets in a cluster is what the image and the program expect, and no more rights than it needs.
func TestKubernetes(t *testing.T) {
	set := parse[statefulSet](t, "kubernetes/worker.yaml")
	p := set.Spec.Template.Spec
	c := p.Containers[0]

	var args []string
	for _, a := range c.Args {
		args = append(args, strings.ReplaceAll(a, "$(CORES)", c.Resources.Limits["cpu"]))
	}
	checkWorker(t, args, invitation, folder)
	mounts := map[string]mount{}
	for _, m := range c.VolumeMounts {
		mounts[m.MountPath] = m
	}
	provided := map[string]bool{}
	for _, v := range p.Volumes {
		provided[v.Name] = true
	}
	for _, path := range []string{invitation, folder, "/tmp", "/dev/shm"} {
		if !provided[mounts[path].Name] {
			t.Errorf("there is no volume at %s", path)
		}
	}
	if !maps.Equal(c.Resources.Requests, c.Resources.Limits) {
		t.Errorf("requests and limits differ, so that a guest has no core of its own: %+v", c.Resources)
	}
	if m := mounts[invitation]; m.SubPathExpr != "$(POD_NAME).invitation" || !m.ReadOnly {
		t.Errorf("a worker sees the invitations of others: %+v", m)
	}
	if err := broker.CheckWorker(set.Metadata.Name + "-0"); err != nil {
		t.Error(err)
	}

	if user := fmt.Sprintf("%d:%d", p.SecurityContext.RunAsUser, p.SecurityContext.RunAsGroup); user != readImage(t).user || !p.SecurityContext.RunAsNonRoot {
		t.Errorf("it runs as %s, the image as %s", user, readImage(t).user)
	}
	s := c.SecurityContext
	if p.SecurityContext.SeccompProfile.Type != "RuntimeDefault" || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem ||
		!slices.Equal(s.Capabilities.Drop, []string{"ALL"}) || s.Capabilities.Add != nil || s.Privileged {
		t.Errorf("it has more rights than it needs: %+v, %+v", p.SecurityContext, s)
	}
	if p.TerminationGracePeriodSeconds <= int(interrupt.Limit.Seconds()) {
		t.Errorf("it is killed after %d s, before it has given back its batches", p.TerminationGracePeriodSeconds)
	}

	scaler := parse[scaledObject](t, "kubernetes/autoscaling.yaml")
	if target := scaler.Spec.ScaleTargetRef; target.Kind != set.Kind || target.Name != set.Metadata.Name {
		t.Errorf("what is scaled is %+v", target)
	}
	if scaler.Spec.MaxReplicaCount != set.Spec.Replicas {
		t.Errorf("there are invitations for %d workers, and KEDA starts %d", set.Spec.Replicas, scaler.Spec.MaxReplicaCount)
	}
	queue := scaler.Spec.Triggers[0].Metadata
	campaign, found := strings.CutSuffix(queue["consumer"], broker.WorkQueue("", "any"))
	if err := broker.CheckName(campaign); err != nil || !found || queue["stream"] != broker.WorkStream {
		t.Errorf("KEDA looks at %v, not at the campaign's queue in %s (%v)", queue, broker.WorkStream, err)
	}
	selected := set.Spec.Template.Metadata.Labels
	policy := parse[networkPolicy](t, "kubernetes/network.yaml")
	for _, s := range []map[string]string{set.Spec.Selector.MatchLabels, policy.Spec.PodSelector.MatchLabels} {
		for label, value := range s {
			if selected[label] != value {
				t.Errorf("workers have no label %s: %s", label, value)
			}
		}
	}
	for _, file := range parse[kustomization](t, "kubernetes/kustomization.yaml").Resources {
		if _, err := os.Stat(filepath.Join("kubernetes", file)); err != nil {
			t.Error(err)
		}
	}
}

// TestManifests: the manifests are what the APIs of Kubernetes and KEDA take, and a wrong key would be found.
func TestManifests(t *testing.T) {
	var all []any
	for _, name := range []string{"worker", "network", "autoscaling"} {
		all = append(all, parse[map[string]any](t, filepath.Join("kubernetes", name+".yaml")))
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := objections(t, text); len(wrong) > 0 {
		t.Errorf("objections:\n%s", strings.Join(wrong, "\n"))
	}
	for right, wrong := range map[string]string{`"runAsNonRoot"`: `"runAsNonroot"`, `"maxReplicaCount":4`: `"maxReplicaCount":"4"`} {
		if !bytes.Contains(text, []byte(right)) {
			t.Fatalf("there is no %s", right)
		}
		if said := objections(t, bytes.ReplaceAll(text, []byte(right), []byte(wrong))); len(said) == 0 {
			t.Errorf("%s is not objected to", wrong)
		}
	}
}

func parse[T any](t *testing.T, file string) (v T) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

// objections returns what other people's programs have against Kubernetes objects, an array of JSON.
func objections(t *testing.T, objects []byte) (wrong []string) {
	t.Helper()
	readers, err := filepath.Abs("../.cache/readers")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(readers, "node_modules/kubernetes-models")); err != nil {
		needtest.Program(t, "readers", errors.New("Kubernetes's types are not installed: run make readers"))
	}
	c := exec.CommandContext(t.Context(), "node", "testdata/manifests.mjs", readers)
	c.Stdin, c.Stderr = bytes.NewReader(objects), os.Stderr
	said, err := c.Output()
	if err == nil {
		err = json.Unmarshal(said, &wrong)
	}
	if err != nil {
		t.Fatal("check the manifests: ", err)
	}
	return wrong
}
