import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { runTool } from '../../../../src/features/agents/core/run-tool';
import { hostTicking } from './ticking-host';

describe('a search of agents', () => {
  const asked = { path: 'gpt3-175b/config.json', gpus: 384 };

  it('answers with the best so far and a bound when its time is up, and that is what a plan of it predicts', async () => {
    const { text, data } = await runTool('terapipe_search', { ...asked, seconds: 1 }, hostTicking(0.2));
    assert.equal(data['finished'], false, text);
    assert.equal(data['fits'], true);
    assert.match(text, /not done after [\d.]+ s.*(none is faster than|not known yet)/);
    const planned = await runTool('terapipe_plan', { path: asked.path, set: data['set'] }, hostTicking(0));
    assert.equal(planned.data['stepMs'], data['stepMs'], planned.text);
  });

  it('reports that nothing that fits was found when its time is up long before', async () => {
    const { text, isError } = await runTool('terapipe_search', asked, hostTicking(1e6));
    assert.equal(isError, true);
    assert.match(text, /Nothing that fits was found within 30 s/);
  });
});
