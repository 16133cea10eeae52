import assert from 'node:assert/strict';
import { detectDevice, libraryVersions, parseNvidia } from '../../../src/profiler/device';

type DeviceFacts = Parameters<typeof detectDevice>[0];

const bare: DeviceFacts = {
  provider: 'webgpu',
  platform: 'linux',
  cpu: 'AMD EPYC 7763 64-Core Processor',
  memoryBytes: 64 * 2 ** 30,
  nvidia: null,
  adapters: [],
  libraries: [],
  deviceFiles: [],
};
const nvidia = { name: 'NVIDIA H100 80GB HBM3', driver: '550.54.15', totalBytes: 80 * 2 ** 30, freeBytes: 79 * 2 ** 30 };
/** The Vulkan loader maps the drivers of all vendors that are installed. */
const mesa = ['/usr/lib/libvulkan_radeon.so', '/usr/lib/libvulkan_intel.so', '/usr/lib/libvulkan_lvp.so'];
const named = (facts: Partial<DeviceFacts>): string => {
  const { kind, name } = detectDevice({ ...bare, ...facts });
  return `${kind} ${name}`;
};

describe('device behind a provider', () => {
  it('is the processor for the CPU provider', () => {
    assert.deepEqual(detectDevice({ ...bare, provider: 'cpu' }), {
      kind: 'cpu',
      name: bare.cpu,
      memoryBytes: bare.memoryBytes,
      driver: null,
    });
  });

  it('is what nvidia-smi shows for CUDA', () => {
    const expected = { kind: 'gpu', name: nvidia.name, memoryBytes: nvidia.totalBytes, driver: nvidia.driver };
    assert.deepEqual(detectDevice({ ...bare, provider: 'cuda', nvidia }), expected);
    assert.equal(named({ provider: 'cuda' }), 'gpu NVIDIA GPU');
  });

  it('is software when only a driver that draws on the CPU can have run', () => {
    assert.equal(named({ libraries: ['/usr/lib/chromium/libvk_swiftshader.so'] }), 'software SwiftShader');
    assert.equal(named({ libraries: mesa }), 'software llvmpipe');
  });

  it('is a GPU when its device file is open, though software drivers are loaded too', () => {
    assert.equal(named({ libraries: mesa, deviceFiles: ['/dev/dri/renderD128'] }), 'gpu AMD GPU');
    const deviceFiles = ['/dev/nvidiactl', '/dev/nvidia0'];
    assert.equal(
      named({ libraries: [...mesa.slice(2), '/usr/lib/libGLX_nvidia.so.550.54.15'], deviceFiles, nvidia }),
      `gpu ${nvidia.name}`,
    );
  });

  it('is the first real adapter on Windows', () => {
    const windows = { platform: 'win32', provider: 'dml' } as const;
    assert.equal(named({ ...windows, adapters: ['Microsoft Basic Render Driver'] }), 'software Microsoft Basic Render Driver');
    assert.equal(named({ ...windows, adapters: ['Microsoft Basic Display Adapter', 'AMD Radeon RX 7900'] }), 'gpu AMD Radeon RX 7900');
    assert.equal(named(windows), 'gpu GPU');
  });

  it('is the chip on a Mac', () => {
    assert.equal(named({ platform: 'darwin', provider: 'coreml', cpu: 'Apple M3 Max' }), 'gpu Apple M3 Max');
  });
});

describe('answer of nvidia-smi', () => {
  const csv = '0, GPU-aaaa, NVIDIA A100-SXM4-40GB, 535.104.05, 40960, 40326\n1, GPU-bbbb, Tesla V100-SXM2-16GB, 535.104.05, 16384, 100\n';

  it('is read in units of bytes', () => {
    const expected = { name: 'NVIDIA A100-SXM4-40GB', driver: '535.104.05', totalBytes: 40960 * 2 ** 20, freeBytes: 40326 * 2 ** 20 };
    assert.deepEqual(parseNvidia(csv, undefined), expected);
  });

  it('is of the GPU that CUDA_VISIBLE_DEVICES puts first', () => {
    assert.equal(parseNvidia(csv, '1,0')?.name, 'Tesla V100-SXM2-16GB');
    assert.equal(parseNvidia(csv, 'GPU-bb')?.name, 'Tesla V100-SXM2-16GB');
  });

  it('is null without a GPU', () => {
    assert.equal(parseNvidia('No devices were found\n', undefined), null);
  });
});

describe('versions of CUDA', () => {
  it('are those of the libraries that are loaded', () => {
    const libraries = [
      '/usr/local/cuda/lib64/libcudart.so.12.8.90',
      '/x/libcudnn.so.9.8.0',
      '/x/libcudnn_graph.so.9.8.0',
      '/lib/libc.so.6',
    ];
    assert.deepEqual(libraryVersions(libraries), { cuda: '12.8.90', cudnn: '9.8.0' });
  });
});
