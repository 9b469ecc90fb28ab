package logging

import (
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// New returns a logger that writes to out, in the form that its reader can use. Verbosity is 0 for transitions and 1
// for every pass.
func New(out io.Writer, verbosity int) logr.Logger {
	file, ok := out.(*os.File)
	return newLogger(out, verbosity, ok && term.IsTerminal(int(file.Fd())))
}

func newLogger(out io.Writer, verbosity int, terminal bool) logr.Logger {
	level := uberzap.NewAtomicLevelAt(zapcore.Level(-verbosity)) //nolint:gosec // a small number
	encoder := zap.JSONEncoder(form(time.RFC3339Nano))
	if terminal {
		encoder = zap.ConsoleEncoder(form(time.RFC3339))
	}
	return zap.New(zap.WriteTo(out), zap.Level(&level), encoder, zap.StacktraceLevel(zapcore.DPanicLevel),
		zap.RawZapOpts(uberzap.AddCaller(), uberzap.WrapCore(withoutFramework)))
}

// form has times in this layout, and no line say where in the source it comes from.
func form(layout string) zap.EncoderConfigOption {
	return func(config *zapcore.EncoderConfig) {
		config.EncodeTime = func(at time.Time, encoder zapcore.PrimitiveArrayEncoder) {
			encoder.AppendString(at.UTC().Format(layout))
		}
		config.CallerKey = zapcore.OmitKey
	}
}

// framework is in front of the functions of controller-runtime.
const framework = "sigs.k8s.io/controller-runtime/"

// passing is in front of those of them that say what others say: the API server's warnings.
const passing = framework + "pkg/log."

// core keeps the framework's lines of level Info back unless those of level 1 are wanted.
type core struct{ zapcore.Core }

func withoutFramework(inner zapcore.Core) zapcore.Core { return core{inner} }

// With keeps the lines of a logger with more values back, too.
func (c core) With(fields []zapcore.Field) zapcore.Core { return core{c.Core.With(fields)} }

// Check has the line be written by Write: where it comes from is known only then.
func (c core) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(entry.Level) {
		return checked
	}
	return checked.AddCore(entry, c)
}

func (c core) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	function := entry.Caller.Function
	theirs := strings.HasPrefix(function, framework) && !strings.HasPrefix(function, passing)
	if theirs && entry.Level == zapcore.InfoLevel && !c.Enabled(zapcore.DebugLevel) {
		return nil
	}
	return c.Core.Write(entry, fields)
}
