package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"go.uber.org/zap/zapcore"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

var errBroken = errors.New("broken")

func TestLinesForMachines(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	began := time.Now().Truncate(time.Second)
	newLogger(&out, 0, false).WithName("session").Info("server quarantined", "name", "fs")
	var line map[string]any
	g.Expect(json.Unmarshal(out.Bytes(), &line)).To(Succeed())
	at, err := time.Parse(time.RFC3339Nano, line["ts"].(string))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(at).To(BeTemporally(">=", began))
	g.Expect(line["ts"]).To(HaveSuffix("Z"))
	delete(line, "ts")
	g.Expect(line).To(Equal(map[string]any{
		"level": "info", "logger": "session", "msg": "server quarantined", "name": "fs",
	}))
}

func TestLinesForPeople(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	logger := newLogger(&out, 0, true).WithName("session")
	logger.Info("server quarantined", "name", "fs")
	logger.Error(errBroken, "status not written")
	g.Expect(out.String()).To(MatchRegexp(
		`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\tINFO\tsession\tserver quarantined\t{"name": "fs"}` +
			`\n\S+Z\tERROR\tsession\tstatus not written\t{"error": "broken"}\n$`))
}

// A file is no terminal.
func TestFilesGetLinesForMachines(t *testing.T) {
	g := NewWithT(t)
	file, err := os.CreateTemp(t.TempDir(), "log")
	g.Expect(err).NotTo(HaveOccurred())
	New(file, 0).Info("started")
	text, err := os.ReadFile(file.Name())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Valid(text)).To(BeTrue(), string(text))
}

func TestVerbosity(t *testing.T) {
	for verbosity, want := range map[int]string{0: "", 1: "pass"} {
		var out bytes.Buffer
		newLogger(&out, verbosity, false).V(1).Info("pass")
		NewWithT(t).Expect(out.String()).To(ContainSubstring(want))
		NewWithT(t).Expect(out.Len() > 0).To(Equal(want != ""))
	}
}

// installed is the logger of the process, which can be set once.
var installed = sync.OnceValue(func() *bytes.Buffer {
	out := &bytes.Buffer{}
	ctrl.SetLogger(newLogger(out, 0, false))
	return out
})

// What the program logs by the framework's logger is not taken for the framework's, and a warning of the API server is
// not kept back.
func TestLinesByTheFrameworksLogger(t *testing.T) {
	g := NewWithT(t)
	early := ctrl.Log.WithName("early")
	out := installed()
	out.Reset()
	early.Info("one")
	ctrl.Log.WithName("x").WithValues("a", "b").Info("two")
	log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{}).
		HandleWarningHeaderWithContext(t.Context(), 299, "", "deprecated")
	g.Expect(strings.Split(strings.TrimSpace(out.String()), "\n")).To(HaveExactElements(
		ContainSubstring(`"logger":"early","msg":"one"`), ContainSubstring(`"logger":"x","msg":"two","a":"b"`),
		ContainSubstring(`"msg":"deprecated"`)))
}

// Of what the framework tells, only what is wrong shows, unless everything is asked for.
func TestFrameworkIsQuiet(t *testing.T) {
	const controller = framework + "pkg/internal/controller.(*Controller).Start"
	const ours = "github.com/mooring-dev/mooring/x.Do"
	for _, test := range []struct {
		function string
		level    zapcore.Level
		enabled  zapcore.Level
		shown    bool
	}{
		{controller, zapcore.InfoLevel, zapcore.InfoLevel, false},
		{controller, zapcore.InfoLevel, zapcore.DebugLevel, true},
		{controller, zapcore.ErrorLevel, zapcore.InfoLevel, true},
		{framework + "pkg/log.(*KubeAPIWarningLogger).HandleWarningHeaderWithContext",
			zapcore.InfoLevel, zapcore.InfoLevel, true},
		{ours, zapcore.InfoLevel, zapcore.InfoLevel, true},
		{ours, zapcore.DebugLevel, zapcore.InfoLevel, false},
	} {
		var out bytes.Buffer
		encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"})
		inner := withoutFramework(zapcore.NewCore(encoder, zapcore.AddSync(&out), test.enabled)).With(nil)
		entry := zapcore.Entry{Level: test.level, Message: "told"}
		if checked := inner.Check(entry, nil); checked != nil {
			checked.Caller = zapcore.EntryCaller{Defined: true, Function: test.function} // as a logger sets it
			checked.Write()
		}
		NewWithT(t).Expect(out.Len() > 0).To(Equal(test.shown), "%+v", test)
	}
}
