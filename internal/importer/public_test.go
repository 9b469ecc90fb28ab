package importer_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/importer"
)

// shown is a server in one line: what is clear as it is, and *key for each value of its Secret.
func shown(entry *importer.Entry) string {
	if entry.Server == nil {
		return strings.Join(entry.Notes, "; ")
	}
	spec := entry.Server.Spec
	from := func(source *v1alpha1.ValueSource) string { return "*" + source.SecretKeyRef.Key }
	var out []string
	if spec.Stdio != nil {
		out = append(append(out, spec.Stdio.Command...), spec.Stdio.Args...)
		for _, v := range spec.Stdio.Env {
			if v.ValueFrom != nil {
				out = append(out, v.Name+"="+from(v.ValueFrom))
			} else {
				out = append(out, v.Name+"="+*v.Value)
			}
		}
	} else {
		out = append(out, spec.HTTP.URL)
		for _, h := range spec.HTTP.Headers {
			if h.ValueFrom != nil {
				out = append(out, h.Name+": "+from(h.ValueFrom))
			} else {
				out = append(out, h.Name+": "+h.Value)
			}
		}
		if spec.HTTP.Auth != nil {
			out = append(out, "bearer "+from(spec.HTTP.Auth.Bearer))
		}
	}
	text := strings.Join(out, " ")
	for _, v := range spec.Variables {
		text = strings.ReplaceAll(text, "$("+v.Name+")", from(v.ValueFrom))
	}
	return text
}

// What people run, as the documentation of each server has it, with credentials (canary, or in the form of their
// issuer) in the places where they are wanted. Nothing else goes into the Secret.
func TestPublicServers(t *testing.T) {
	for _, test := range []struct{ name, fields, want string }{
		{"github remote", `{"type": "http", "url": "https://api.githubcopilot.com/mcp/",
			"headers": {"Authorization": "Bearer canary", "X-MCP-Toolsets": "repos,issues", "X-MCP-Readonly": "true"}}`,
			"https://api.githubcopilot.com/mcp/ X-MCP-Toolsets: repos,issues X-MCP-Readonly: true bearer *token"},
		{"github in a container", `{"command": "docker", "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN",
			"-e", "GITHUB_TOOLSETS=repos,issues", "--entrypoint", "/server/github-mcp-server",
			"ghcr.io/github/github-mcp-server", "stdio", "--gh-host", "https://github.example.com"],
			"env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "canary"}}`,
			"/server/github-mcp-server stdio --gh-host https://github.example.com " +
				"GITHUB_PERSONAL_ACCESS_TOKEN=*GITHUB_PERSONAL_ACCESS_TOKEN GITHUB_TOOLSETS=repos,issues"},
		{"github of the reference servers", `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"],
			"env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "canary", "GITHUB_HOST": "github.example.com"}}`,
			"npx -y @modelcontextprotocol/server-github GITHUB_PERSONAL_ACCESS_TOKEN=*GITHUB_PERSONAL_ACCESS_TOKEN " +
				"GITHUB_HOST=github.example.com"},
		{"gitlab", `{"command": "npx", "args": ["-y", "@zereight/mcp-gitlab"], "env": {"GITLAB_PERSONAL_ACCESS_TOKEN":
			"canary", "GITLAB_API_URL": "https://gitlab.example.com/api/v4", "GITLAB_READ_ONLY_MODE": "false",
			"USE_PIPELINE": "true"}}`,
			"npx -y @zereight/mcp-gitlab GITLAB_PERSONAL_ACCESS_TOKEN=*GITLAB_PERSONAL_ACCESS_TOKEN " +
				"GITLAB_API_URL=https://gitlab.example.com/api/v4 GITLAB_READ_ONLY_MODE=false USE_PIPELINE=true"},
		{"postgres", `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-postgres",
			"postgresql://ada:can/ary@db.example.com:5432/orders?sslmode=require"]}`,
			"npx -y @modelcontextprotocol/server-postgres *argument"},
		{"postgres without a password", `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-postgres",
			"postgresql://ada@db.example.com:5432/orders?sslmode=require&application_name=mcp"]}`,
			"npx -y @modelcontextprotocol/server-postgres " +
				"postgresql://ada@db.example.com:5432/orders?sslmode=require&application_name=mcp"},
		{"postgres-mcp", `{"command": "uvx", "args": ["postgres-mcp", "--access-mode=restricted"],
			"env": {"DATABASE_URI": "postgresql://ada:canary#1@localhost:5432/orders"}}`,
			"uvx postgres-mcp --access-mode=restricted DATABASE_URI=*DATABASE_URI"},
		{"mysql", `{"command": "uvx", "args": ["--from", "mysql-mcp-server==0.2.2", "mysql_mcp_server"],
			"env": {"MYSQL_HOST": "localhost", "MYSQL_PORT": 3306, "MYSQL_USER": "ada", "MYSQL_PASSWORD": "canary",
			"MYSQL_DATABASE": "orders"}}`,
			"uvx --from mysql-mcp-server==0.2.2 mysql_mcp_server MYSQL_HOST=localhost MYSQL_PORT=3306 MYSQL_USER=ada " +
				"MYSQL_PASSWORD=*MYSQL_PASSWORD MYSQL_DATABASE=orders"},
		{"mongodb", `{"command": "npx", "args": ["-y", "mongodb-mcp-server@latest", "--readOnly", "--apiClientId", "mdb_1",
			"--apiClientSecret", "canary"], "env": {"MDB_MCP_CONNECTION_STRING": "mongodb+srv://ada:canary?@c0.example.net/x"}}`,
			"npx -y mongodb-mcp-server@latest --readOnly --apiClientId mdb_1 --apiClientSecret *apiClientSecret " +
				"MDB_MCP_CONNECTION_STRING=*MDB_MCP_CONNECTION_STRING"},
		{"redis", `{"command": "uvx", "args": ["--from", "redis-mcp-server@latest", "redis-mcp-server", "--url",
			"redis://localhost:6379/0"], "env": {"REDIS_SSL": "False", "REDIS_CA_PATH": "/etc/ssl/ca.pem"}}`,
			"uvx --from redis-mcp-server@latest redis-mcp-server --url redis://localhost:6379/0 REDIS_SSL=False " +
				"REDIS_CA_PATH=/etc/ssl/ca.pem"},
		{"sentry remote", `{"url": "https://mcp.sentry.dev/mcp/acme/web"}`, "https://mcp.sentry.dev/mcp/acme/web"},
		{"sentry", `{"command": "npx", "args": ["@sentry/mcp-server@latest", "--access-token=canary",
			"--host=sentry.example.com", "--add-scopes=event:write,project:write", "--sentry-dsn=https://canary@o1.example/1"]}`,
			"npx @sentry/mcp-server@latest --access-token=*access-token --host=sentry.example.com " +
				"--add-scopes=event:write,project:write --sentry-dsn=*sentry-dsn"},
		{"notion", `{"command": "npx", "args": ["-y", "@notionhq/notion-mcp-server"], "env": {"OPENAPI_MCP_HEADERS":
			"{\"Authorization\": \"Bearer canary\", \"Notion-Version\": \"2022-06-28\"}"}}`,
			"npx -y @notionhq/notion-mcp-server OPENAPI_MCP_HEADERS=*OPENAPI_MCP_HEADERS"},
		{"stripe", `{"command": "npx", "args": ["-y", "@stripe/mcp", "--tools=all", "--api-key=canary",
			"--stripe-account=acct_123"]}`,
			"npx -y @stripe/mcp --tools=all --api-key=*api-key --stripe-account=acct_123"},
		{"supabase", `{"command": "npx", "args": ["-y", "@supabase/mcp-server-supabase@latest", "--read-only",
			"--project-ref=abcdefghijklmnopqrst", "--access-token", "canary", "--features=database,docs"]}`,
			"npx -y @supabase/mcp-server-supabase@latest --read-only --project-ref=abcdefghijklmnopqrst " +
				"--access-token *access-token --features=database,docs"},
		{"supabase remote", `{"url": "https://mcp.supabase.com/mcp?project_ref=abcdefghijklmnopqrst&read_only=true"}`,
			"https://mcp.supabase.com/mcp?project_ref=abcdefghijklmnopqrst&read_only=true"},
		{"filesystem", `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem",
			"/Users/ada/Desktop", "/path/to/other/allowed/dir"]}`,
			"npx -y @modelcontextprotocol/server-filesystem /Users/ada/Desktop /path/to/other/allowed/dir"},
		{"brave search", `{"command": "npx", "args": ["-y", "@brave/brave-search-mcp-server", "--transport", "stdio"],
			"env": {"BRAVE_API_KEY": "canary"}}`,
			"npx -y @brave/brave-search-mcp-server --transport stdio BRAVE_API_KEY=*BRAVE_API_KEY"},
		{"slack", `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-slack"], "env": {"SLACK_BOT_TOKEN":
			"canary", "SLACK_TEAM_ID": "T01234567", "SLACK_CHANNEL_IDS": "C01234567, C76543210"}}`,
			"npx -y @modelcontextprotocol/server-slack SLACK_BOT_TOKEN=*SLACK_BOT_TOKEN SLACK_TEAM_ID=T01234567 " +
				"SLACK_CHANNEL_IDS=C01234567, C76543210"},
		{"slack by its cookies", `{"command": "npx", "args": ["-y", "slack-mcp-server@latest", "--transport", "stdio"],
			"env": {"SLACK_MCP_XOXC_TOKEN": "canary", "SLACK_MCP_XOXD_TOKEN": "canary", "SLACK_MCP_USERS": "/tmp/u.json"}}`,
			"npx -y slack-mcp-server@latest --transport stdio SLACK_MCP_XOXC_TOKEN=*SLACK_MCP_XOXC_TOKEN " +
				"SLACK_MCP_XOXD_TOKEN=*SLACK_MCP_XOXD_TOKEN SLACK_MCP_USERS=/tmp/u.json"},
		{"linear", `{"command": "npx", "args": ["-y", "mcp-remote", "https://mcp.linear.app/mcp"]}`,
			"https://mcp.linear.app/mcp"},
		{"atlassian", `{"command": "docker", "args": ["run", "-i", "--rm", "-e", "CONFLUENCE_URL", "-e", "JIRA_API_TOKEN",
			"-e", "JIRA_USERNAME", "ghcr.io/sooperset/mcp-atlassian:latest"], "env": {
			"CONFLUENCE_URL": "https://acme.atlassian.net/wiki", "JIRA_USERNAME": "ada@example.com",
			"JIRA_API_TOKEN": "canary"}}`,
			"fill-in CONFLUENCE_URL=https://acme.atlassian.net/wiki JIRA_API_TOKEN=*JIRA_API_TOKEN " +
				"JIRA_USERNAME=ada@example.com"},
		{"grafana", `{"command": "docker", "args": ["run", "--rm", "-i", "-e", "GRAFANA_URL",
			"-e", "GRAFANA_SERVICE_ACCOUNT_TOKEN", "grafana/mcp-grafana", "-t", "stdio", "-debug"],
			"env": {"GRAFANA_URL": "http://localhost:3000", "GRAFANA_SERVICE_ACCOUNT_TOKEN": "canary"}}`,
			"fill-in -t stdio -debug GRAFANA_URL=http://localhost:3000 " +
				"GRAFANA_SERVICE_ACCOUNT_TOKEN=*GRAFANA_SERVICE_ACCOUNT_TOKEN"},
		{"puppeteer", `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-puppeteer"], "env":
			{"PUPPETEER_LAUNCH_OPTIONS": "{ \"headless\": false, \"executablePath\": \"C:/Chrome/chrome.exe\", \"args\": [] }",
			"ALLOW_DANGEROUS": "true"}}`,
			"npx -y @modelcontextprotocol/server-puppeteer " +
				"PUPPETEER_LAUNCH_OPTIONS=*PUPPETEER_LAUNCH_OPTIONS ALLOW_DANGEROUS=true"},
		{"playwright", `{"command": "npx", "args": ["@playwright/mcp@latest", "--browser=msedge", "--viewport-size=1280x720",
			"--user-data-dir=/data/profile", "--storage-state=/data/state.json", "--proxy-server=http://proxy.example:3128"]}`,
			"npx @playwright/mcp@latest --browser=msedge --viewport-size=1280x720 --user-data-dir=/data/profile " +
				"--storage-state=/data/state.json --proxy-server=http://proxy.example:3128"},
		{"context7", `{"url": "https://mcp.context7.com/mcp", "headers": {"CONTEXT7_API_KEY": "canary"}}`,
			"https://mcp.context7.com/mcp CONTEXT7_API_KEY: *CONTEXT7_API_KEY"},
		{"exa", `{"url": "https://mcp.exa.ai/mcp?exaApiKey=canary&tools=web_search_exa,crawling_exa"}`,
			"https://mcp.exa.ai/mcp?exaApiKey=*exaApiKey&tools=web_search_exa,crawling_exa"},
		{"tavily", `{"command": "npx", "args": ["-y", "mcp-remote", "https://mcp.tavily.com/mcp/?tavilyApiKey=canary"]}`,
			"https://mcp.tavily.com/mcp/?tavilyApiKey=*tavilyApiKey"},
		{"firecrawl", `{"command": "npx", "args": ["-y", "firecrawl-mcp"], "env": {"FIRECRAWL_API_KEY": "canary",
			"FIRECRAWL_RETRY_MAX_ATTEMPTS": "5", "FIRECRAWL_CREDIT_WARNING_THRESHOLD": "2000"}}`,
			"npx -y firecrawl-mcp FIRECRAWL_API_KEY=*FIRECRAWL_API_KEY FIRECRAWL_RETRY_MAX_ATTEMPTS=5 " +
				"FIRECRAWL_CREDIT_WARNING_THRESHOLD=2000"},
		{"google maps", `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-google-maps"],
			"env": {"GOOGLE_MAPS_API_KEY": "canary"}}`,
			"npx -y @modelcontextprotocol/server-google-maps GOOGLE_MAPS_API_KEY=*GOOGLE_MAPS_API_KEY"},
		{"bigquery", `{"command": "uvx", "args": ["mcp-server-bigquery", "--project", "acme-1", "--location", "europe-west9",
			"--key-file", "/secrets/sa.json"], "env": {"GOOGLE_APPLICATION_CREDENTIALS": "/secrets/sa.json",
			"GOOGLE_CLOUD_PROJECT": "acme-1"}}`,
			"uvx mcp-server-bigquery --project acme-1 --location europe-west9 --key-file /secrets/sa.json " +
				"GOOGLE_APPLICATION_CREDENTIALS=/secrets/sa.json GOOGLE_CLOUD_PROJECT=acme-1"},
		{"aws", `{"command": "uvx", "args": ["awslabs.core-mcp-server@latest"], "env": {"AWS_PROFILE": "dev",
			"AWS_REGION": "eu-west-3", "FASTMCP_LOG_LEVEL": "ERROR", "AWS_ACCESS_KEY_ID": "canary",
			"AWS_SECRET_ACCESS_KEY": "canary/x+", "AWS_SESSION_TOKEN": "canary"}}`,
			"uvx awslabs.core-mcp-server@latest AWS_PROFILE=dev AWS_REGION=eu-west-3 FASTMCP_LOG_LEVEL=ERROR " +
				"AWS_ACCESS_KEY_ID=*AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY=*AWS_SECRET_ACCESS_KEY " +
				"AWS_SESSION_TOKEN=*AWS_SESSION_TOKEN"},
		{"azure", `{"command": "npx", "args": ["-y", "@azure/mcp@latest", "server", "start"], "env":
			{"AZURE_TENANT_ID": "123e4567-e89b-12d3-a456-426614174000", "AZURE_CLIENT_ID":
			"123e4567-e89b-12d3-a456-426614174001", "AZURE_CLIENT_SECRET": "canary"}}`,
			"npx -y @azure/mcp@latest server start AZURE_TENANT_ID=123e4567-e89b-12d3-a456-426614174000 " +
				"AZURE_CLIENT_ID=123e4567-e89b-12d3-a456-426614174001 AZURE_CLIENT_SECRET=*AZURE_CLIENT_SECRET"},
		{"azure devops", `{"command": "npx", "args": ["-y", "@azure-devops/mcp", "acme", "--domains", "core", "work",
			"--authentication", "azcli"]}`,
			"npx -y @azure-devops/mcp acme --domains core work --authentication azcli"},
		{"cloudflare", `{"command": "npx", "args": ["mcp-remote", "https://observability.mcp.cloudflare.com/sse",
			"--header", "Authorization:${AUTH_HEADER}"], "env": {"AUTH_HEADER": "Bearer canary"}}`,
			"https://observability.mcp.cloudflare.com/sse bearer *token"},
		{"cloudflare access", `{"url": "https://mcp.acme.example/mcp", "headers": {"CF-Access-Client-Id": "1a.access",
			"CF-Access-Client-Secret": "canary"}}`,
			"https://mcp.acme.example/mcp CF-Access-Client-Id: 1a.access CF-Access-Client-Secret: *CF-Access-Client-Secret"},
		{"figma", `{"command": "npx", "args": ["-y", "figma-developer-mcp", "--figma-api-key=canary", "--stdio"]}`,
			"npx -y figma-developer-mcp --figma-api-key=*figma-api-key --stdio"},
		{"shadcn", `{"command": "npx", "args": ["shadcn@latest", "mcp"]}`, "npx shadcn@latest mcp"},
		{"smithery", `{"command": "npx", "args": ["-y", "@smithery/cli@latest", "run", "@acme/exa", "--key", "canary",
			"--profile", "brown-fox-12", "--config", "\"{\\\"exaApiKey\\\":\\\"canary\\\"}\""]}`,
			"npx -y @smithery/cli@latest run @acme/exa --key *key --profile brown-fox-12 --config *argument"},
		{"zapier", `{"url": "https://mcp.zapier.com/api/mcp/s/NzY5YjAtY2FuYXJ5LTQ0ZTItOWY1Zi1hNTY4/mcp"}`,
			"https://mcp.zapier.com/api/mcp/s/*url-path/mcp"},
		{"elasticsearch", `{"command": "npx", "args": ["-y", "@elastic/mcp-server-elasticsearch"], "env":
			{"ES_URL": "https://es.example.com:9200", "ES_API_KEY": "canary", "OTEL_LOG_LEVEL": "none"}}`,
			"npx -y @elastic/mcp-server-elasticsearch ES_URL=https://es.example.com:9200 ES_API_KEY=*ES_API_KEY " +
				"OTEL_LOG_LEVEL=none"},
		{"qdrant", `{"command": "uvx", "args": ["mcp-server-qdrant"], "env": {"QDRANT_URL": "http://localhost:6333",
			"COLLECTION_NAME": "docs", "EMBEDDING_MODEL": "sentence-transformers/all-MiniLM-L6-v2",
			"QDRANT_API_KEY": "canary"}}`,
			"uvx mcp-server-qdrant QDRANT_URL=http://localhost:6333 COLLECTION_NAME=docs " +
				"EMBEDDING_MODEL=sentence-transformers/all-MiniLM-L6-v2 QDRANT_API_KEY=*QDRANT_API_KEY"},
		{"git from git", `{"command": "uvx", "args": ["--from",
			"git+https://github.com/oraios/serena@v0.1.4#subdirectory=src", "serena", "start-mcp-server", "--context",
			"ide-assistant"]}`,
			"uvx --from git+https://github.com/oraios/serena@v0.1.4#subdirectory=src serena start-mcp-server --context " +
				"ide-assistant"},
		{"git over ssh", `{"command": "uvx", "args": ["--from", "git+ssh://git@github.com/acme/tools.git@main", "tools"]}`,
			"uvx --from git+ssh://git@github.com/acme/tools.git@main tools"},
		{"git by a token", `{"command": "uvx", "args": ["--from", "git+https://canary@github.com/acme/tools.git", "tools"]}`,
			"uvx --from *argument tools"},
		{"a registry of one's own", `{"command": "npx", "args": ["-y", "--registry=http://npm.example.com:4873/",
			"http://npm.example.com:8080/@acme/mcp@1.2.3/-/mcp.tgz"], "env": {"npm_config_registry":
			"http://npm.example.com:4873/@acme"}}`,
			"npx -y --registry=http://npm.example.com:4873/ http://npm.example.com:8080/@acme/mcp@1.2.3/-/mcp.tgz " +
				"npm_config_registry=http://npm.example.com:4873/@acme"},
		{"supergateway", `{"command": "npx", "args": ["-y", "supergateway", "--streamableHttp", "https://h.example/mcp",
			"--header", "X-Access: canary", "--header", "X-Org: acme", "--oauth2Bearer", "canary", "--logLevel", "none"]}`,
			"npx -y supergateway --streamableHttp https://h.example/mcp --header X-Access: *X-Access --header X-Org: acme " +
				"--oauth2Bearer *oauth2Bearer --logLevel none"},
		{"mcp-proxy", `{"command": "uvx", "args": ["mcp-proxy", "--headers", "Authorization", "Bearer canary",
			"https://h.example/sse"]}`,
			"uvx mcp-proxy --headers Authorization *argument https://h.example/sse"},
		{"kubernetes", `{"command": "npx", "args": ["-y", "kubernetes-mcp-server@latest", "--port", "8080",
			"--kubeconfig", "/etc/kube/config", "--toolsets", "core,helm"]}`,
			"npx -y kubernetes-mcp-server@latest --port 8080 --kubeconfig /etc/kube/config --toolsets core,helm"},
		{"sql server", `{"command": "node", "args": ["/opt/mssql/index.js"], "env": {"SERVER_NAME": "db.example.com",
			"CONNECTION_STRING": "Server=tcp:db.example.com,1433;User ID=ada;Password=canary;Encrypt=True"}}`,
			"node /opt/mssql/index.js SERVER_NAME=db.example.com CONNECTION_STRING=*CONNECTION_STRING"},
		{"memory", `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"],
			"env": {"MEMORY_FILE_PATH": "/data/memory.json"}}`,
			"npx -y @modelcontextprotocol/server-memory MEMORY_FILE_PATH=/data/memory.json"},
		{"neon", `{"command": "npx", "args": ["-y", "@neondatabase/mcp-server-neon", "start",
			"napi_` + strings.Repeat("a1b2c3d4", 8) + `"]}`, "npx -y @neondatabase/mcp-server-neon start *argument"},
		{"browserbase", `{"command": "npx", "args": ["@browserbasehq/mcp", "--proxies", "--contextId", "ctx_1"], "env": {
			"BROWSERBASE_API_KEY": "canary", "BROWSERBASE_PROJECT_ID": "123e4567-e89b-12d3-a456-426614174000"}}`,
			"npx @browserbasehq/mcp --proxies --contextId ctx_1 BROWSERBASE_API_KEY=*BROWSERBASE_API_KEY " +
				"BROWSERBASE_PROJECT_ID=123e4567-e89b-12d3-a456-426614174000"},
		{"e2b", `{"command": "npx", "args": ["-y", "@e2b/mcp-server"], "env": {"E2B_API_KEY": "canary"}}`,
			"npx -y @e2b/mcp-server E2B_API_KEY=*E2B_API_KEY"},
		{"resend", `{"command": "node", "args": ["/opt/mcp-send-email/build/index.js",
			"--key=re_AbCdEfG1_a1b2c3d4e5f6a1b2c3d4e5f6", "--sender=ada@example.com", "--reply-to=team@example.com"]}`,
			"node /opt/mcp-send-email/build/index.js --key=*key --sender=ada@example.com --reply-to=team@example.com"},
		{"render", `{"url": "https://mcp.render.com/mcp", "headers": {
			"Authorization": "Bearer rnd_a1b2c3d4e5f6a1b2c3d4e5f6"}}`, "https://mcp.render.com/mcp bearer *token"},
		{"context7 by a command", `{"command": "npx", "args": ["-y", "@upstash/context7-mcp", "--api-key",
			"ctx7sk-123e4567-e89b-12d3-a456-426614174000"]}`, "npx -y @upstash/context7-mcp --api-key *api-key"},
		{"airtable", `{"command": "npx", "args": ["-y", "airtable-mcp-server", "patAbCdEfGhIj1234.` +
			strings.Repeat("a1b2c3d4", 8) + `"]}`, "npx -y airtable-mcp-server *argument"},
		{"terraform", `{"command": "docker", "args": ["run", "-i", "--rm", "-e", "TFE_TOKEN", "-e",
			"TFE_ADDRESS=https://app.terraform.io", "hashicorp/terraform-mcp-server:0.3.0"], "env": {"TFE_TOKEN": "canary"}}`,
			"fill-in TFE_TOKEN=*TFE_TOKEN TFE_ADDRESS=https://app.terraform.io"},
		{"new relic", `{"url": "https://mcp.newrelic.com/mcp/", "headers": {"Api-Key": "NRAK-A1B2C3D4E5F6A1B2C3D4E5F6A1B",
			"include-tags": "discovery,alerting"}}`,
			"https://mcp.newrelic.com/mcp/ Api-Key: *Api-Key include-tags: discovery,alerting"},
		{"sonarqube", `{"command": "docker", "args": ["run", "-i", "--rm", "-e", "SONARQUBE_TOKEN", "-e", "SONARQUBE_ORG",
			"mcp/sonarqube"], "env": {"SONARQUBE_TOKEN": "canary", "SONARQUBE_ORG": "acme"}}`,
			"fill-in SONARQUBE_TOKEN=*SONARQUBE_TOKEN SONARQUBE_ORG=acme"},
		{"discord", `{"command": "npx", "args": ["-y", "mcp-discord", "--config", "MTIzNDU2Nzg5MDEyMzQ1Njc4.AbCdEf.` +
			`a1b2c3d4e5f6a1b2c3d4e5f6a1b"], "env": {"DISCORD_GUILD_ID": "123456789012345678"}}`,
			"npx -y mcp-discord --config *argument DISCORD_GUILD_ID=123456789012345678"},
		{"mailgun and mailchimp", `{"command": "npx", "args": ["-y", "mail-mcp", "key-` + strings.Repeat("a1b2c3d4", 4) +
			`", "` + strings.Repeat("a1b2c3d4", 4) + `-us21", "--domain", "mg.example.com"]}`,
			"npx -y mail-mcp *argument *argument-2 --domain mg.example.com"},
		{"honeycomb by OTLP", `{"command": "npx", "args": ["-y", "traced-mcp"], "env": {
			"OTEL_EXPORTER_OTLP_ENDPOINT": "https://api.honeycomb.io", "OTEL_SERVICE_NAME": "traced",
			"OTEL_EXPORTER_OTLP_HEADERS": "x-honeycomb-team=canary,x-honeycomb-dataset=mcp"}}`,
			"npx -y traced-mcp OTEL_EXPORTER_OTLP_ENDPOINT=https://api.honeycomb.io OTEL_SERVICE_NAME=traced " +
				"OTEL_EXPORTER_OTLP_HEADERS=*OTEL_EXPORTER_OTLP_HEADERS"},
		{"a proxy that asks for a password", `{"command": "uvx", "args": ["some-proxy", "-u", "ada:canary", "--user",
			"1000:1000", "https://h.example/mcp"]}`, "uvx some-proxy -u *u --user 1000:1000 https://h.example/mcp"},
		{"oracle", `{"command": "java", "args": ["-jar", "/opt/mcp.jar", "jdbc:oracle:thin:ada/canary@db"]}`,
			"java -jar /opt/mcp.jar *argument"},
		{"a key in Base 64", `{"command": "npx", "args": ["-y", "some-mcp", "--encryption",
			"Zm9vYmFyU2VjcmV0S2V5MTIzNDU2Nzg5MGFiY2RlZg==", "--mode=fast", "LEVEL="]}`,
			"npx -y some-mcp --encryption *argument --mode=fast LEVEL="},
		{"a shell", `{"command": "bash", "args": ["-c", "npx -y some-mcp --token canary"]}`, "bash -c *argument"},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(shown(entry(t, test.fields))).To(Equal(test.want))
		})
	}
}

// What only a person can tell from a credential goes into the Secret.
func TestDoubtfulValuesGoIntoTheSecret(t *testing.T) {
	for _, value := range []string{
		`{"headless": true, "args": ["--no-sandbox"], "viewport": {"width": 1280}}`, `["a", "b"]`, `{"maxTokens": 4096}`,
		"a1b2-us21", "jdbc:oracle:thin:@//db:1521/x", "key-0123456789abcdef",
	} {
		fields := fmt.Sprintf(`{"command": "npx", "args": ["--mode", %q], "env": {"MODE": %q}}`, value, value)
		NewWithT(t).Expect(shown(entry(t, fields))).To(Equal("npx --mode *argument MODE=*MODE"))
	}
}

// What is no credential stays as it is, wherever it is.
func TestHarmlessValuesStay(t *testing.T) {
	values := []string{
		"8080", "3306", "eu-west-3", "europe-west9-b", "v1.2.3", "2025-06-18", "0.14.0-rc.1", "acme", "Ada Lovelace",
		"ada@example.com", "production", "sonnet", "claude-sonnet-4-20250514", "gpt-4o-mini",
		"Qwen/Qwen2.5-Coder-32B-Instruct",
		"Meta-Llama-3-1-405B-Instruct-Turbo", "/data/memory.json", "/Users/ada/Documents/Projects/0123456789/Engine",
		`C:\Users\ada\Documents\Projects`, "./src/index.ts", "@modelcontextprotocol/server-everything@2025.7.1", "@acme/mcp",
		"npm:@acme/mcp@1.2", "npm:lodash@4.17.21", "mcp-server-fetch==2025.4.7", "jsr:@std/fs@1", "github:acme/tools#main",
		"https://mcp.example.com/mcp", "http://localhost:3000/@acme/mcp@1.2", "http://host:8080/@scope/pkg",
		"http://mcp:8080/pkg@latest/x", "http://[::1]:8080/@scope/pkg@2", "https://h.example/users/ada@example.com",
		"postgresql://localhost:5432/orders", "postgresql://ada@localhost/orders", "redis://cache:6379/0",
		"mongodb://a:27017,b:27017/x?replicaSet=r", "file:///data/a@b/c:d", "s3://bucket/a/b@2x.png",
		"ghcr.io/acme/auth:1.2", "registry.example.com:5000/acme/mcp@sha256:" + strings.Repeat("0123456789abcdef", 4),
		"git@github.com:acme/tools.git", "ssh://git@github.com/acme/tools", "git+https://github.com/acme/tools@v1",
		"123e4567-e89b-12d3-a456-426614174000", "core,helm,issues", "event:write,project:read", "repo:read token:write",
		"http://auth:8080/realms/acme", "https://id.example.com/oauth/token", "arn:aws:iam::123456789012:role/reader",
		"arn:aws:secretsmanager:eu-west-3:123456789012:secret:orders", "mailto:ada@example.com", "*/5 * * * *", "UTC+2",
		"a=b;c=d", "x=1&y=2",
		"max_tokens=4096", "timeout: 30s", "12:30:00", "en-US,en;q=0.9", "text/plain; charset=utf-8",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", "hf_transfer", "sk-learn-mcp-server", "task-force-one-and-more",
		"100%", "50% of 20%", "host.docker.internal:11434", "keycloak", "monkey=see", "SELECT 1", "true", "-1", "3.14",
		"nvapi-url", "bb_live_view", "e2b_sandbox", "re_index_all", "napi_get_value_string_utf8", "rnd_seed", "fm2_radio",
		"ATBBQ", "LTAILOR", "squ_are", "pul-request", "key-value", "mcp-us-east-1",
		"MCP.server.v1", "patch.1", "app.terraform.io", "A3-paper", "1000:1000", "a==b",
		"someNameOf2Parts=", "x-org=acme,x-honeycomb-dataset=mcp",
		"op://vault/item/field", "vault://path/x", "projects/acme/locations/eu/keyRings/r", "10.0.0.0/8", "none",
	}
	names := []string{
		"PORT", "AWS_REGION", "LOG_LEVEL", "BASE_URL", "MODEL_NAME", "AUTHOR", "KEYBOARD_LAYOUT", "MONKEY", "TOKEN_URL",
		"MAX_TOKENS", "AUTH0_DOMAIN", "AUTH_CLIENT_ID", "SSH_AUTH_SOCK", "COMPASS_HOST", "API_KEY_HEADER", "COOKIE_DOMAIN",
		"PASSWORD_POLICY", "AUTH_MODE", "KEY_PREFIX", "TURKEY", "ACCESS_MODE", "SESSION_TIMEOUT", "DATABASE",
	}
	for _, name := range names {
		flag := "--" + strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		for _, value := range values {
			fields := fmt.Sprintf(`{"command": "npx", "args": [%q, %q, %q], "env": {%q: %q}}`,
				flag, value, flag+"="+value, name, value)
			want := strings.Join([]string{"npx", flag, value, flag + "=" + value, name + "=" + value}, " ")
			NewWithT(t).Expect(shown(entry(t, fields))).To(Equal(want))
			header := "X-" + strings.ReplaceAll(name, "_", "-")
			fields = fmt.Sprintf(`{"url": "https://h.example/", "headers": {%q: %q}}`, header, value)
			NewWithT(t).Expect(shown(entry(t, fields))).To(Equal("https://h.example/ " + header + ": " + value))
			fields = fmt.Sprintf(`{"command": "npx", "args": ["-H", %q, %q]}`, header+": "+value, "--header="+header+": "+value)
			NewWithT(t).Expect(shown(entry(t, fields))).
				To(Equal(fmt.Sprintf("npx -H %s: %s --header=%[1]s: %[2]s", header, value)))
		}
	}
}
