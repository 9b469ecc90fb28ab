package failure

// Classify names the fault that err stands for. Every branch of the error tree is searched (Unwrap() error and
// Unwrap() []error). What an *Error says wins over what can be inferred from other errors, unless it says Unknown;
// among equals the most specific class wins. Classify(nil) is the zero Failure.
func Classify(err error) Failure {
	if err == nil {
		return Failure{}
	}
	var told []Failure
	walk(err, func(node error) {
		if typed, ok := node.(*Error); ok { //nolint:errorlint // every node of the tree is visited by walk
			told = append(told, typed.normal())
		}
	})
	best, found := mostSpecific(told)
	if found && best.Class != Unknown {
		return best
	}
	guess := infer(err)
	if found {
		guess.Phase = best.Phase
		if guess.Class == Unknown {
			return best
		}
	}
	return guess
}

// ClassifyAt is Classify for a fault of which the phase is known: it fills a phase that the error does not tell,
// and gives our own deadline the reason of its phase, unless it was spent on waiting for a token.
func ClassifyAt(phase Phase, err error) Failure {
	f := Classify(err)
	if f.Class == "" {
		return f
	}
	if f.Phase == "" {
		f.Phase = phase
	}
	if f.Class == Timeout && f.Reason != TokenAcquisitionFailed {
		f.Reason = timeoutReason(f.Phase)
	}
	return f
}

func timeoutReason(phase Phase) Reason {
	switch phase {
	case List:
		return ListToolsTimeout
	case Call:
		return CallTimeout
	case Connect, Stream:
		return ConnectTimeout
	case Probe:
		return ConnectionLost
	}
	return ConnectTimeout
}

// normal is the Failure with its two words filled in.
func (e *Error) normal() Failure {
	f := e.Failure
	if f.Class == "" {
		f.Class = Unknown
	}
	f.Reason = f.reasonOrUnknown()
	return f
}

// walk visits err and everything it wraps, depth first.
func walk(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch wrapper := err.(type) { //nolint:errorlint // this is the walk that errors.As would do
	case interface{ Unwrap() error }:
		walk(wrapper.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range wrapper.Unwrap() {
			walk(inner, visit)
		}
	}
}

func mostSpecific(candidates []Failure) (Failure, bool) {
	for _, row := range table {
		for _, f := range candidates {
			if f.Class == row.Class {
				return f, true
			}
		}
	}
	return Failure{}, false
}
