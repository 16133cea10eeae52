import assert from 'node:assert/strict';
import { parseAmount, parseBandwidth } from '../../../src/core/amounts';

describe('parseAmount', () => {
  it('reads lengths and counts with powers of 1,024', () => {
    const written = ['4096', '4,096', '4_096', '8k', '128K', '1M', '1.5k', '1e2', '64 k', '1T', '2B', '1Ki'];
    const values = [4096, 4096, 4096, 8192, 131_072, 1_048_576, 1536, 100, 65_536, 1e12, 2e9, 1024];
    assert.deepEqual(written.map((each) => parseAmount(each, 'binary')), values); // prettier-ignore
  });

  it('reads token budgets with powers of 1,000', () => {
    assert.deepEqual(['15T', '15.6e12', '300B', '100M', '1Mi'].map((each) => parseAmount(each, 'decimal')), [15e12, 15.6e12, 3e11, 1e8, 2 ** 20]); // prettier-ignore
  });

  it('takes nothing else for an amount', () => {
    for (const written of ['', 'k', 'eight', '8kk', '1,2', '0x10', '1e', 'Infinity', '8 GB', '--8', '1e999'])
      assert.equal(parseAmount(written, 'binary'), null, written);
  });
});

describe('parseBandwidth', () => {
  it('distinguishes bits from bytes and adds up the links of a node', () => {
    assert.deepEqual(['100Gb/s', '400 Gbps', '12.5GB/s', '8x400Gb/s', '1 Tbit/s', '800MB/s'].map(parseBandwidth), [12.5, 50, 12.5, 400, 125, 0.8]); // prettier-ignore
  });

  it('needs a unit', () => {
    for (const written of ['100', '100G', 'fast', '-1GB/s', '0GB/s', '']) assert.equal(parseBandwidth(written), null, written);
  });
});
