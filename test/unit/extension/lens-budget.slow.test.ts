import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { recogniseConfig } from '../../../src/core/config-files/readers';
import type { ConfigFormat } from '../../../src/core/run/config-format';
import { ExpectedError } from '../../../src/core/errors';
import { english, sentence } from '../../../src/core/sentence';
import { configLenses } from '../../../src/extension/language/lens-text';
import type { LayoutSearch } from '../../../src/host/sessions/layout-search-host';
import type { SessionState } from '../../../src/host/sessions/session-state';
import { shellReader } from '../core/launchers/shell/shell-reader';
import { nextTurn, testHost, uri } from './test-host';

/** Characters that fit a file next to its timeline on a laptop. */
const longestLenses = 80;

const fixtures = path.resolve('test/fixtures');

/** Every config of the fixtures that is recognised, with its folder. */
function configs(): readonly { readonly file: string; readonly format: ConfigFormat }[] {
  return readdirSync(fixtures, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    if (!/^(configs|launchers).*\.(json|yaml|yml|toml|sh|args)$/.test(name)) return [];
    const format = recogniseConfig(name, readFileSync(path.join(fixtures, name), 'utf8'));
    return format === null ? [] : [{ file: name, format }];
  });
}

/** The state of a config once it is planned, or why it is not. */
async function settled(file: string, format: ConfigFormat): Promise<SessionState> {
  const folder = path.dirname(path.join(fixtures, file));
  const texts = readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [[entry.name, readFileSync(path.join(folder, entry.name), 'utf8')] as const] : [],
  );
  const { sessions, requests, finish } = testHost(Object.fromEntries(texts), 1, () => (reader ??= shellReader()));
  const done: SessionState[] = [];
  void sessions.ensure(uri(path.basename(file)), format).then((state) => done.push(state));
  for (let finished = 0; done.length === 0;) {
    if (requests.length > finished) {
      await finish();
      finished += 1;
    } else await nextTurn();
  }
  return done[0]!;
}
let reader: ReturnType<typeof shellReader> | undefined;

/** A search as it may be next to a plan: under way, of now and of before the last edits. */
const searches: readonly (LayoutSearch | null)[] = [
  null,
  { running: null, answer: null, staleEdits: 0, error: null, opened: null },
  ...[0, 1].map((staleEdits) => ({ running: undefined, answer: found(), staleEdits, error: null, opened: null })),
];

function found(): LayoutSearch['answer'] {
  const best = { fits: true, iterationMs: 123_456 };
  return { id: 'a', result: { best, launched: null } as unknown as NonNullable<LayoutSearch['answer']>['result'] };
}

describe('lenses of every fixture', () => {
  it(`take at most ${longestLenses} characters together, whatever is known, and are two at most`, async () => {
    const files = configs();
    assert.ok(files.length > 15, `${files.length} configs`);
    let planned = 0;
    for (const { file, format } of files) {
      const state = await settled(file, format);
      planned += state.plan === null ? 0 : 1;
      const error = new ExpectedError('any', sentence`${'Something long '.repeat(20)}`, sentence`mend it`);
      for (const each of [state, { ...state, staleEdits: 2 }, { ...state, plan: null, error }])
        for (const search of searches) {
          const titles = configLenses(each, search, english).map(({ title }) => title);
          const text = titles.join(' | ');
          assert.ok(text.length <= longestLenses && titles.length <= 2, `${file}: ${text.length} characters: ${text}`);
        }
    }
    assert.ok(planned > 10, `${planned} planned`);
  });
});
