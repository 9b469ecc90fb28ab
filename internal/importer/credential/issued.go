package credential

import (
	"regexp"
	"strings"
)

// issued are credentials that their issuers mark. Where an issuer publishes a length it is asked for, more or less: a
// word that only begins like a credential is none.
var issued = regexp.MustCompile(`(?:^|[^A-Za-z0-9])(?:` + strings.Join([]string{
	// Code hosts, package registries and builds.
	`gh[opusr]_[A-Za-z0-9]{8,}|github_pat_[A-Za-z0-9_]{8,}|gl(?:pat|rt|dt|soat|cbt|ptt|ffct|imt|agent|oas|ft)-` +
		`[A-Za-z0-9_-]{8,}|ATATT[A-Za-z0-9_=-]{8,}|ATBB[A-Za-z0-9_=.-]{24,}|ATCTT[A-Za-z0-9_=.-]{24,}`,
	`npm_[A-Za-z0-9]{16,}|pypi-[A-Za-z0-9_-]{16,}|rubygems_[0-9a-f]{32,}|dckr_[po]at_[A-Za-z0-9_-]{8,}|` +
		`bkua_[A-Za-z0-9]{32,}|sq[uap]_[0-9a-f]{32,}|sgp_[0-9a-f_]{32,}|pul-[0-9a-f]{32,}|` +
		`[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{32,}|CCIPAT_[A-Za-z0-9_]{16,}`,
	// Clouds, databases and what runs programs.
	`(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{16,}|ya29\.[A-Za-z0-9_-]{8,}|GOCSPX-[A-Za-z0-9_-]{8,}|` +
		`LTAI[A-Za-z0-9]{12,}|[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}|do[opr]_v1_[a-f0-9]{8,}|` +
		`fm[12][ar]?_[A-Za-z0-9+/=_-]{32,}|fo1_[A-Za-z0-9_-]{32,}|HRKU-[A-Za-z0-9_-]{32,}|rnd_[A-Za-z0-9]{20,}`,
	`sbp_[a-z0-9]{16,}|sb_(?:secret|publishable)_[A-Za-z0-9_-]{8,}|napi_[A-Za-z0-9]{32,}|` +
		`pscale_(?:tkn|pw)_[A-Za-z0-9_-]{8,}|dapi[0-9a-f]{32}|hv[bs]\.[A-Za-z0-9_-]{8,}|dp\.(?:pt|st|ct)\.[A-Za-z0-9.]{8,}|` +
		`tskey-[A-Za-z0-9-]{8,}|AGE-SECRET-KEY-[A-Z0-9]{8,}|A3-[A-Z0-9]{6}-[A-Z0-9]{5,11}-[A-Z0-9-]{11,}|` +
		`bb_live_[A-Za-z0-9_-]{20,}|e2b_[0-9a-f]{32,}`,
	// Models, and what is made for them.
	`(?:sk|rk|pk)[-_][A-Za-z0-9_-]{8,}|hf_[A-Za-z0-9]{8,}|nvapi-[A-Za-z0-9_-]{32,}|pplx-[A-Za-z0-9]{8,}|` +
		`gsk_[A-Za-z0-9]{8,}|xai-[A-Za-z0-9]{16,}|r8_[A-Za-z0-9]{8,}|fc-[0-9a-f]{16,}|tvly-[A-Za-z0-9-]{8,}|` +
		`apify_api_[A-Za-z0-9]{8,}|lsv2_[a-z]{2}_[A-Za-z0-9_]{8,}|ctx7sk-[0-9a-f-]{32,}|jina_[A-Za-z0-9_-]{32,}`,
	// Chats, documents, mail, payments, observation.
	`xox[a-z]-[A-Za-z0-9%-]{8,}|xapp-[A-Za-z0-9-]{8,}|[0-9]{8,10}:[A-Za-z0-9_-]{35}|` +
		`[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}`,
	`lin_(?:api|oauth)_[A-Za-z0-9]{8,}|ntn_[A-Za-z0-9]{8,}|secret_[A-Za-z0-9]{32,}|fig[duo]_[A-Za-z0-9_-]{8,}|` +
		`CFPAT-[A-Za-z0-9_-]{8,}|pat[A-Za-z0-9]{14}\.[0-9a-f]{64}|tfp_[A-Za-z0-9_.=-]{40,}|` +
		`pat-(?:na|eu)[0-9]-[A-Za-z0-9-]{8,}|PMAK-[0-9a-f]{24}-[0-9a-f]{32,}|rdme_[a-z0-9]{60,}`,
	`SG\.[A-Za-z0-9_-]{8,}|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}|key-[0-9a-f]{32}|[0-9a-f]{32}-us[0-9]{1,2}\b|` +
		`xkeysib-[0-9a-f]{32,}|shp(?:at|ca|pa|ss)_[A-Za-z0-9]{8,}|sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}|` +
		`whsec_[A-Za-z0-9+/]{8,}|shippo_(?:live|test)_[0-9a-f]{32,}`,
	`sntry[su]_[A-Za-z0-9_=+/-]{8,}|gls?[ac]_[A-Za-z0-9_=+/-]{16,}|ph[cx]_[A-Za-z0-9]{16,}|NRAK-[A-Z0-9]{24,}|` +
		`NRII-[A-Za-z0-9_-]{24,}|[0-9A-Fa-f]{32,36}NRAL\b|hc[a-z](?:ik|ic|mk)_[a-z0-9]{32,}|` +
		`dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{32,}`,
	// JSON in Base 64, of which tokens are made.
	`eyJ[A-Za-z0-9_-]{8,}`,
}, "|") + `)`)

// marked tells whether an issuer's mark is in the text. A credential has a digit or a capital; hf_transfer has none.
func marked(text string) bool {
	for _, match := range issued.FindAllString(text, -1) {
		if strings.ContainsAny(match, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return true
		}
	}
	return false
}
