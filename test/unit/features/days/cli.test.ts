import assert from 'node:assert/strict';
import path from 'node:path';
import { openCommandLine, type CommandLine } from '../../cli/command-line';

const config = path.join(import.meta.dirname, '../../../fixtures/configs/pipeline/terapipe.json');

interface Ends {
  readonly low: number;
  readonly usual: number;
  readonly high: number;
}

type Answer = Readonly<Record<'days' | 'trainingDays' | 'goodput' | 'gpuHours' | 'cost' | 'megawattHours', Ends>>;

describe('terapipe days', () => {
  let terapipe: CommandLine;
  before(() => {
    terapipe = openCommandLine();
  });
  after(() => {
    terapipe.dispose();
  });

  async function days(...args: readonly string[]): Promise<Answer> {
    return JSON.parse((await terapipe.run(['days', config, '--json', ...args])).out) as Answer;
  }

  it('takes the days of the plan, and more by what failures cost', async () => {
    const { out } = await terapipe.run(['plan', config, '--tokens', '1T', '--json']);
    const { plan } = JSON.parse(out) as { readonly plan: { readonly budget: { readonly days: number } } };
    const { trainingDays, days: all, goodput, cost, gpuHours } = await days('--tokens', '1T', '--price', '2');
    assert.ok(Math.abs(trainingDays.usual / plan.budget.days - 1) < 1e-9);
    assert.ok(Math.abs(trainingDays.usual / goodput.usual - all.usual) < 1e-9 * all.usual);
    assert.ok(all.low < all.usual && all.usual < all.high && goodput.high < goodput.low);
    assert.equal(cost.usual, 2 * gpuHours.usual);
  });

  it('adds up phases that are planned with settings of their own', async () => {
    const phase = await days('--tokens', '2T', '--phase', '1T:training.globalBatch=4');
    const first = await days('--tokens', '1T', '--set', 'training.globalBatch=4');
    const second = await days('--tokens', '1T');
    assert.ok(Math.abs(phase.trainingDays.usual - first.trainingDays.usual - second.trainingDays.usual) < 1e-6 * phase.trainingDays.usual);
  });

  it('refuses a run without tokens, and figures that are not numbers', async () => {
    assert.match((await terapipe.run(['days', config])).err, /tokens of the whole run are not given/);
    assert.match((await terapipe.run(['days', config, '--tokens', '1T', '--every', 'often'])).err, /--every is "often"/);
    assert.match((await terapipe.run(['days', config, '--tokens', '1T', '--storage', '5'])).err, /--storage is "5"/);
  });
});
