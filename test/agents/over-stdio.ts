import { spawn } from 'node:child_process';
import { copyFileSync, cpSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { openCommandLine } from '../unit/cli/command-line';

const { resolve } = createRequire(import.meta.url);
export const repository = path.join(import.meta.dirname, '../..');

/** What a call of a tool answered. */
export interface Answered {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

/** A server that is connected to the client of the official SDK. */
export interface Agent {
  readonly client: Client;
  readonly call: (name: string, input: Record<string, unknown>, options?: Parameters<Client['callTool']>[1]) => Promise<Answered>;
  readonly pid: number | null;
}

/** `terapipe mcp`, bundled as it ships. */
export function openServer() {
  const line = openCommandLine();
  const clients: Client[] = [];
  const home = path.join(path.dirname(line.folder), 'shipped');
  const ship = async (): Promise<string> => {
    const file = await line.bundle();
    cpSync(path.dirname(file), home, { recursive: true });
    for (const wasm of ['web-tree-sitter/web-tree-sitter.wasm', 'tree-sitter-bash/tree-sitter-bash.wasm'])
      copyFileSync(resolve(wasm), path.join(home, path.basename(wasm)));
    return path.join(home, path.basename(file));
  };
  let shipped: Promise<string> | undefined;
  // once: servers that run load further parts from there
  const bundle = (): Promise<string> => (shipped ??= ship());
  return {
    bundle,
    folder: line.folder,
    /** @param era of the protocol: `legacy` is 2025-11-25, `auto` the newest that both speak. @param root the folder that is served. */
    connect: async (era: 'legacy' | 'auto' = 'legacy', root = repository): Promise<Agent> => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: era } });
      const transport = new StdioClientTransport({ command: process.execPath, args: [await bundle(), 'mcp', root], stderr: 'pipe' });
      await client.connect(transport);
      clients.push(client);
      return {
        client,
        pid: transport.pid,
        call: async (name, input, options) => {
          const { content, structuredContent, isError = false } = await client.callTool({ name, arguments: input }, options);
          const [first] = content;
          return { text: first?.type === 'text' ? first.text : '', data: (structuredContent ?? {}) as Answered['data'], isError };
        },
      };
    },
    /** The server with nothing but its pipes. */
    start: async () => spawn(process.execPath, [await bundle(), 'mcp', repository], { stdio: ['pipe', 'pipe', 'pipe'] }),
    dispose: async () => {
      await Promise.all(clients.map((client) => client.close()));
      line.dispose();
    },
  };
}
