package usage

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
)

// errNotPositive is a wait that would end before it began.
var errNotPositive = errors.New("not more than 0")

// Timeout adds the flag --timeout, whose value is more than 0.
func Timeout(flags *pflag.FlagSet, value *time.Duration, standard time.Duration) {
	*value = standard
	flags.Var((*timeout)(value), "timeout", "how long to wait for the outcome")
}

// timeout is a duration that is waited for.
type timeout time.Duration

func (t *timeout) Set(text string) error {
	given, err := time.ParseDuration(text)
	if err == nil && given <= 0 {
		err = errNotPositive
	}
	if err == nil {
		*t = timeout(given)
	}
	return err
}

func (t *timeout) String() string { return time.Duration(*t).String() }

// Type is what help calls it.
func (*timeout) Type() string { return "duration" }
