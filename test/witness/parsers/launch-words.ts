import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** What a launch script gives the program that it starts. */
interface LaunchWords {
  readonly program: string;
  readonly words: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}

const programs: Readonly<Record<string, string>> = {
  srun: 'exec "$@"',
  scontrol: 'echo node0',
  torchrun: 'env -0 > "$SEEN/variables"; printf "%s\\0" "$@" > "$SEEN/words"',
};

/** Runs a launch script with a `srun` and a `torchrun` that only note what they are given. */
export function launchWords(script: string): LaunchWords {
  const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-launch-'));
  for (const [name, body] of Object.entries(programs)) {
    writeFileSync(path.join(folder, name), `#!/bin/sh\n${body}\n`);
    chmodSync(path.join(folder, name), 0o755);
  }
  const given = { DATA_PATH: 'data', TOKENIZER: 'tokenizer', MEGATRON: '.', SEEN: folder, PATH: `${folder}:/usr/bin:/bin` };
  const { status, stderr } = spawnSync('bash', [script], { env: given, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${script} ends with ${status ?? 'a signal'}: ${stderr}`);
  const read = (name: string): readonly string[] => readFileSync(path.join(folder, name), 'utf8').split('\0').slice(0, -1);
  const words = read('words');
  const at = words.findIndex((word) => word.endsWith('.py'));
  const variables = Object.fromEntries(
    read('variables').flatMap((each) => {
      const [name = '', ...value] = each.split('=');
      return name in given || name === 'PWD' || name === 'SHLVL' || name === '_' ? [] : [[name, value.join('=')]];
    }),
  );
  rmSync(folder, { recursive: true });
  return { program: path.basename(words[at] ?? ''), words: words.slice(at + 1), variables };
}
