// An agent on the TypeScript SDK: node client.mjs NODE_MODULES URL TOKEN. It prints what it listed and what a tool said.
const [modules, url, token] = process.argv.slice(2);
const sdk = `${modules}/@modelcontextprotocol/sdk/dist/esm/client`;
const { Client } = await import(`${sdk}/index.js`);
const { StreamableHTTPClientTransport } = await import(`${sdk}/streamableHttp.js`);

const client = new Client({ name: 'agent', version: '1' });
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
const { tools } = await client.listTools();
const result = await client.callTool({ name: 'mcp_fs_echo', arguments: { message: 'hello' } });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), said: result.content[0].text }));
await client.close();
