import { existsSync } from 'node:fs';
import { freePort } from '../harness/code-server.mjs';
import { start } from '../harness/processes.mjs';
import { root } from '../harness/setup.mjs';

/** `npm run demo`, running as its users run it. */
export interface Demo {
  readonly url: string;
  /** The temporary workspace that the address names. */
  readonly workspace: string;
  /** Ends it as Ctrl+C does. @throws when its port still answers or its files are still there */
  readonly stop: () => Promise<void>;
}

/** Starts the demo in a process of its own and waits for the address it prints. */
export async function startDemo(): Promise<Demo> {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), BROWSER: 'none' };
  const running = start(process.execPath, ['test/harness/demo.mjs'], { cwd: root, env });
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      const printed = /^Demo: (\S+)$/m.exec(output)?.[1];
      if (printed !== undefined) resolve(printed);
    };
    running.child.stdout?.on('data', read);
    running.child.stderr?.on('data', read);
    void running.ended.then((code) => reject(new Error(`the demo ended with code ${code}: ${output}`)));
  }).catch(async (error: unknown) => {
    await running.stop();
    throw error;
  });
  const workspace = new URL(url).searchParams.get('folder') ?? '';
  return {
    url,
    workspace,
    async stop() {
      running.child.kill('SIGINT');
      await Promise.race([running.ended, new Promise((resolve) => setTimeout(resolve, 60_000))]);
      await running.stop();
      if (await answers(url)) throw new Error(`${url} still answers after the demo ended`);
      if (existsSync(workspace)) throw new Error(`${workspace} is still there after the demo ended`);
    },
  };
}

async function answers(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(2000) }).then(
    () => true,
    () => false,
  );
}
