# The front door. Each target installs what is missing (scripts/bootstrap), builds what it needs and
# says what it does; a second run takes seconds. OSORA_LIBTORCH=DIR uses a LibTorch of your own.
SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
BUILD := build
PREFIX ?= /usr/local
DEMO_PROGRAMS := osora osorad osora-clips osora-worker
TORCH_OPTION := $(if $(OSORA_LIBTORCH),--libtorch "$(OSORA_LIBTORCH)")

.PHONY: help demo cluster-demo regression-demo test soak build bench lint format install package site clean bootstrap configure fuzz \
	estimate-demo estimate-test

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 24

demo: estimate-demo configure  ## train a small model on real video with 1 and with 2 workers, then report
	@scripts/build $(BUILD) $(DEMO_PROGRAMS)
	@scripts/demo $(BUILD)

cluster-demo: estimate-demo configure  ## a cluster of namespaces with real Slurm, a run, a node without power
	@scripts/build $(BUILD) $(DEMO_PROGRAMS) osora-worker-mock
	@scripts/cluster_demo $(BUILD)

regression-demo: estimate-demo configure  ## a run that became slow on such a cluster, and osora bisect, which says why
	@scripts/build $(BUILD) $(DEMO_PROGRAMS)
	@scripts/regression_demo $(BUILD)

test: estimate-test build  ## the gate tier of the tests; the last line counts them
	@scripts/run_tests gate $(BUILD)

soak: build  ## the long tier of the tests, the numeric tests with other instruction sets, then fuzzing
	@scripts/run_tests soak $(BUILD); soak=$$?; scripts/run_tests --isa $(BUILD) || soak=1; \
	    scripts/fuzz $(BUILD)-asan && exit $$soak

fuzz: bootstrap  ## damaged files at every parser of theirs, under the address sanitizer; FUZZ_SECONDS=600 each
	@scripts/fuzz $(BUILD)-asan

build: configure  ## everything
	@scripts/build $(BUILD)

bench: build  ## every benchmark, one after the other
	@scripts/run_benchmarks $(BUILD)

lint:  ## clang-format, tidy rules, shell and python syntax
	@scripts/lint

format:  ## clang-format on every source, in place
	@scripts/lint --fix

install: build  ## programs and libraries under PREFIX (/usr/local)
	@cmake --install $(BUILD) --prefix "$(PREFIX)"

package: build  ## a Debian package and an archive for clusters, in build/packages (docs/guide/install.md)
	@scripts/package deb --build $(BUILD)
	@scripts/package tar --build $(BUILD)

site:  ## the documents as a web site with search, in build/site
	@scripts/site $(BUILD)

clean:  ## removes build/ (.deps stays)
	@rm -rf $(BUILD)

# Before bootstrap there may be no python3.
estimate-demo:
	@scripts/estimate demo $(BUILD) $(DEMO_PROGRAMS) 2>/dev/null || \
	    echo 'demo: about half an hour on 2 cores the first time: downloads, build, demo'

estimate-test:
	@scripts/estimate test $(BUILD) 2>/dev/null || \
	    echo 'test: about an hour on 2 cores the first time: downloads, build, tests'

bootstrap:
	@scripts/bootstrap $(TORCH_OPTION)

configure: bootstrap
	@scripts/build --configure $(BUILD)
