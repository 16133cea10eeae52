import path from 'node:path';
import process from 'node:process';
import { fromJsonSchema, McpServer, type JsonSchemaType, type jsonSchemaValidator } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { version } from '../../../../package.json';
import tools from '../json/tools.json';
import { openToolThread } from './tool-thread-client';

/*
 * `terapipe mcp`: the tools over the Model Context Protocol on standard input and output, in both of its eras. The tools run on a thread;
 * this one only speaks the protocol. It ends with its input.
 */

const [, , , folder = '.'] = process.argv;
process.chdir(folder);
const thread = openToolThread(path.join(__dirname, 'tools.js'), process.cwd());

// Anything but the protocol on standard output breaks the host.
for (const name of ['log', 'info', 'debug'] as const) console[name] = console.error;

/** The tools judge what they are asked, and say how to ask: the protocol passes it on. */
const passedOn = {
  getValidator: () => (data: unknown) => ({ valid: true, data, errorMessage: undefined }),
} as unknown as jsonSchemaValidator;

const instructions =
  'TeraPipe predicts memory and step time of Transformer training from config files, checks them, and searches layouts. Give numbers from its answers with their range, and name what is assumed. It writes nothing.';

function makeServer(): McpServer {
  const server = new McpServer({ name: 'terapipe', title: 'TeraPipe', version }, { capabilities: { tools: {} }, instructions });
  for (const { name, title, description, inputSchema } of tools)
    server.registerTool(
      name,
      {
        title,
        description,
        inputSchema: fromJsonSchema<Record<string, unknown>>(inputSchema as JsonSchemaType, passedOn),
        annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      },
      async (input, { mcpReq }) => {
        const { progressToken } = mcpReq._meta ?? {};
        let progress = 0;
        const onProgress = (message: string): void => {
          progress += 1;
          void mcpReq
            .notify({ method: 'notifications/progress', params: { progressToken: progressToken ?? 0, progress, message } })
            .catch(() => undefined);
        };
        const answer = await thread.call(name, input, { signal: mcpReq.signal, ...(progressToken === undefined ? {} : { onProgress }) });
        if (answer === null) return { content: [{ type: 'text', text: 'Cancelled.' }], isError: true };
        const { text, data, isError = false } = answer;
        return { content: [{ type: 'text', text }], structuredContent: { ...data }, isError };
      },
    );
  return server;
}

const handle = serveStdio(makeServer, { onerror: (error) => process.stderr.write(`terapipe mcp: ${error.message}\n`) });

const end = (): void => {
  void Promise.allSettled([handle.close(), thread.end()]).then(() => process.exit(0));
};
process.stdin.on('end', end).on('close', end);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
