#!/usr/bin/env bash
# Installs the runners that record.py records into the folder PREFIX, from PyPI, npm and Debian; as root, for Debian's
# packages. cargo and cargo-nextest are the machine's.
#
#     tests/recordings/install.sh PREFIX
set -euo pipefail
mkdir -p "$1/bin" "$1/npm"
prefix=$(cd "$1" && pwd)

apt-get install -y --no-install-recommends golang-go gotestsum ruby ruby-rspec ruby-minitest ruby-test-unit rake bundler \
    phpunit php-cli php-xml php-mbstring elixir erlang-eunit automake autoconf maven libsurefire-java junit4 junit5 \
    maven-debian-helper gradle

python3 -m venv "$prefix/venv"
"$prefix/venv/bin/pip" install -q pytest==9.2.0 pytest-xdist==3.8.0 tox==4.67.15 nox==2026.10.20 uv==0.13.9 poetry==2.5.1 \
    pdm==2.29.4 cmake==4.4.5 ninja==1.13.2 meson==1.12.1

cd "$prefix/npm"
[ -f package.json ] || echo '{"private": true}' > package.json
# The install scripts are left out: they only link what the packages have.
npm install --ignore-scripts --no-audit --no-fund jest@30.5.2 vitest@3.2.7 vite@7 mocha@12.0.3 ava@6.4.1 tap@21.8.0 \
    tape@5.10.2 jasmine karma@6.4.4 karma-jasmine karma-jsdom-launcher jsdom@26 @playwright/test@1.65.1 turbo@2.11.11 \
    nx@22.7.12 lerna@9.0.7 concurrently@9.2.5 pnpm@9.15.9 yarn@1.22.22 @yarnpkg/cli-dist@4.18.1 qunit uvu \
    bun@1.4.5 deno@2.9.6
ln -sf ../npm/node_modules/@deno/linux-x64-glibc/deno "$prefix/bin/deno"
for bun in node_modules/@oven/bun-linux-x64/bin/bun node_modules/bun/bin/bun.exe; do
    if [ -x "$bun" ]; then ln -sf "../npm/$bun" "$prefix/bin/bun"; fi
done
