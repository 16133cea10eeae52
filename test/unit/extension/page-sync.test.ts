import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { ExpectedError } from '../../../src/core/errors';
import { sentence } from '../../../src/core/sentence';
import type { CandidateId } from '../../../src/core/planner/plan';
import { makePageSync, type PageSync } from '../../../src/host/pages/page-sync';
import type { SessionState } from '../../../src/host/sessions/session-state';
import type { PageState } from '../../../src/protocol/page';
import { smallModel, smallRun, testHost, uri } from './test-host';

const context = { page: 'tab', trusted: true, displayPath: (file: string) => file.replace('file:///w/', '') } as const;

async function planned(): Promise<SessionState> {
  const { sessions, finish } = testHost({ 'terapipe.json': smallRun({ surprise: 1 }), 'config.json': smallModel });
  const session = sessions.ensure(uri('terapipe.json'), 'terapipe');
  await finish();
  return session;
}

/** What an update sets; fails where it is a whole state. */
function updated(sync: PageSync, session: SessionState, over: object = {}): Partial<PageState> | null {
  const message = sync.next(session, { ...context, ...over });
  if (message === null) return null;
  assert.ok(message.type === 'update', message.type);
  return message.fields;
}

const timelinesIn = ({ plan }: Partial<PageState>): readonly CandidateId[] =>
  (plan?.candidates ?? []).flatMap(({ id, timeline }) => (timeline === null ? [] : [id]));

describe('what a page is sent', () => {
  it('is the whole state first, then what is new of it, and nothing while nothing is', async () => {
    const session = await planned();
    const sync = makePageSync();
    const first = sync.next(session, context);
    assert.ok(first?.type === 'state' && first.state.plan !== null);
    assert.equal(updated(sync, session), null);
    const incumbent = { latencyMs: 3, lowerBoundMs: 2 };
    assert.deepEqual(updated(sync, { ...session, progress: 0.5, incumbent, staleEdits: 1 }), { progress: 0.5, incumbent, staleEdits: 1 });
  });

  it('has no plan where that stays, though findings and texts are new', async () => {
    const session = await planned();
    const sync = makePageSync();
    sync.next(session, context);
    const texts = new Map([...session.texts].map(([file, text]) => [file, `\n${text}`]));
    const fields = updated(sync, { ...session, texts, findings: session.findings.slice(1) });
    assert.deepEqual(Object.keys(fields ?? {}), ['findings']);
    const other = { ...session, plan: session.plan === null ? null : { ...session.plan } };
    assert.ok('plan' in (updated(sync, other) ?? {}));
  });

  it('is whole again for another config, and for a page that has nothing any more', async () => {
    const session = await planned();
    const sync = makePageSync();
    sync.next(session, context);
    assert.equal(sync.next({ ...session, file: uri('other.json') }, context)?.type, 'state');
    sync.forget();
    assert.equal(sync.next({ ...session, file: uri('other.json') }, context)?.type, 'state');
  });

  it('draws only the chosen timeline until the page asks for others, and keeps those', async () => {
    const session = await planned();
    const { chosen, candidates } = session.plan!;
    const others = candidates.map(({ id }) => id).filter((id) => id !== chosen);
    const [one, another] = others;
    assert.ok(one !== undefined && another !== undefined);
    const sync = makePageSync();
    const first = sync.next(session, context);
    assert.ok(first?.type === 'state');
    assert.deepEqual(timelinesIn(first.state), [chosen]);
    assert.deepEqual(
      first.state.withheld?.map(({ id }) => id),
      others,
    );
    sync.draw([one]);
    assert.deepEqual(new Set(timelinesIn(updated(sync, session) ?? {})), new Set([chosen, one]));
    sync.draw([another]);
    assert.deepEqual(new Set(timelinesIn(updated(sync, session) ?? {})), new Set([chosen, one, another]));
    sync.draw([one]);
    assert.equal(updated(sync, session), null, 'the page has it');
    const next = { ...session, plan: { ...session.plan! } };
    assert.deepEqual(new Set(timelinesIn(updated(sync, next) ?? {})), new Set([chosen, one]), 'a new plan comes with what is drawn now');
  });

  it('is notified later while a plan is to come, but at once what came of one, and an error', async () => {
    const session = await planned();
    const sync = makePageSync();
    assert.equal(sync.due({ ...session, progress: 0.2 }), 'now', 'the page has nothing');
    sync.next(session, context);
    assert.equal(sync.due(session), 'soon', 'nothing is to come');
    assert.equal(sync.due({ ...session, progress: 0.2, findings: [] }), 'later');
    assert.equal(sync.due({ ...session, staleEdits: 1 }), 'later');
    assert.equal(sync.due({ ...session, staleEdits: 1, plan: null }), 'now');
    const error = new ExpectedError('config-syntax', sentence`broken`, sentence`mend it`);
    assert.equal(sync.due({ ...session, staleEdits: 1, error }), 'now');
  });
});
