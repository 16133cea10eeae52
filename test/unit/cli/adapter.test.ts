import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { adapterJson, adapterLine } from '../../../src/cli/answers/adapter';
import { libraryDefaults } from '../../../src/core/launchers/tables/adapters';
import { byDefault } from '../../../src/core/domain/located';
import { sentence } from '../../../src/core/sentence';
import { llama3, request } from '../../golden/requests';

const place = { file: 'a.yaml', range: { start: 0, end: 1 } };

describe('adapters on a terminal', () => {
  it('have rank, targets and bits, by the library where the file leaves them open', () => {
    const given = { place, name: 'adapter', baseBits: byDefault(4 as const, sentence`given`), defaults: libraryDefaults.llamaFactory };
    assert.deepEqual(adapterJson(given), {
      setting: 'adapter',
      kind: 'qlora',
      rank: 8,
      targets: ['all-linear'],
      dropout: 0,
      bits: 4,
      doubleQuantised: false,
      saved: [],
    });
    assert.equal(adapterJson(undefined), null);
  });

  it('have a line of the plan', () => {
    const { training } = request('H100-80GB', llama3('70b', 1), { training: {}, layout: {} });
    assert.deepEqual(adapterLine(training), []);
    const adapter = { rank: 16, targets: ['query', 'value'], baseBits: 4, saved: ['head'] } as const;
    assert.deepEqual(adapterLine({ ...training, adapter }), [
      ['adapters', 'rank 16 on query, value; frozen weights in 4 bits; head trained whole'],
    ]);
  });
});
