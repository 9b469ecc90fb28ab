package credential

import (
	"regexp"
	"strings"
)

var (
	// login is name:password@host without a scheme in front, such as the drivers of Go have it.
	login = regexp.MustCompile(`(?:^|[\s"'=])([^\s:@/"'{}]{2,}):(\S+)@(?:(?:tcp6?|unix)\(|` +
		`(?:(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}|localhost)(?:[:/?\s"']|$)|[A-Za-z0-9.-]+:[0-9]{2,5}(?:[/?\s"']|$))`)
	// oracle is name/password@host:port/service, with or without what a driver puts before it.
	oracle = regexp.MustCompile(`(?i)(?:^|[\s"'=])\w+/([^\s@/]+)@(?:(?://)?[A-Za-z0-9.-]+:[0-9]{2,5}[/:]|//\S)|` +
		`\bjdbc:oracle:\w+:[^\s/@]+/(\S+)@`)
	// notLogins are what may stand before : and @ without being anybody's name.
	notLogins = set("mailto npm jsr github gitlab file acct sip sips xmpp did workspace")
)

// logsIn tells whether the text logs in somewhere without a URL, of which UserInfo knows more.
func logsIn(text string) bool {
	for _, match := range login.FindAllStringSubmatch(text, -1) {
		url := strings.HasPrefix(match[2], "//")
		if !url && !notLogins[strings.ToLower(match[1])] && filled(match[2]) != "" {
			return true
		}
	}
	for _, match := range oracle.FindAllStringSubmatch(text, -1) {
		if filled(match[1]+match[2]) != "" {
			return true
		}
	}
	for _, match := range attachedForm.FindAllStringSubmatch(text, -1) {
		if Login(strings.TrimSuffix(match[1], "="), match[2]) {
			return true
		}
	}
	return false
}

var (
	// attachedForm is a flag of a command line with its value in the same word.
	attachedForm = regexp.MustCompile(`(?:^|[\s"'])(-[uU]|--?[A-Za-z][A-Za-z0-9_-]*=)["'\\]*([^\s"',\\]+)`)
	// loginLast are last words of flags that take a name, or a name and a password as curl does.
	loginLast = set("u user username basic login userpwd")
	pairForm  = regexp.MustCompile(`(?s)^([^\s:/]+):(.+)$`)
	numbers   = regexp.MustCompile(`^[0-9]+:[0-9]+$`)
)

// Login tells whether the value of a flag is name:password, such as that of -u. The ids of a user and a group are none,
// and no URL is.
func Login(flag, value string) bool {
	parts := Words(flag)
	if !strings.HasPrefix(flag, "-") || len(parts) == 0 || !loginLast[parts[len(parts)-1]] || numbers.MatchString(value) {
		return false
	}
	match := pairForm.FindStringSubmatch(value)
	return match != nil && filled(match[2]) != "" && !strings.HasPrefix(match[2], "//") &&
		!notLogins[strings.ToLower(match[1])]
}
