import assert from 'node:assert/strict';
import { isConfig, readCorpus } from '../fuzz/corpus';
import { judge } from '../fuzz/judge';
import { shellReader } from '../unit/core/launchers/shell/shell-reader';
import { cases } from './cases';

const members = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'] as const;

/** One in `step` words of each file is replaced. */
const step = cases(4, 1);

describe('readers of configs and launchers', () => {
  it('take words that are called like members of Object.prototype for words', async () => {
    const shell = await shellReader();
    const problems: string[] = [];
    let at = 0;
    for (const { file, text } of readCorpus().filter(isConfig)) {
      const words = new Set(text.match(/[A-Za-z_][\w-]*/g));
      for (const word of words) {
        at += 1;
        if (at % step !== 0) continue;
        const member = members[(at / step) % members.length] ?? members[0];
        const main = { file, text: text.replaceAll(new RegExp(`(?<![\\w-])${word}(?![\\w-])`, 'g'), member) };
        const { problem } = await judge({ main, neighbour: null, command: [] }, shell);
        if (problem !== null) problems.push(`${file}, ${word} as ${member}: ${problem}`);
      }
    }
    assert.deepEqual(problems, []);
  });
});
