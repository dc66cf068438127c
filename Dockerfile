# The site on CPU PyTorch. Its steps are the Makefile's targets.
#
#   docker build --build-arg TORCH_INDEX=<an index of CPU builds> -t longhand .
#   docker run --rm -p 8000:8000 longhand
#
# Without TORCH_INDEX the build still works, with the CUDA build that plain pip takes on Linux.
FROM python:3.11-slim

ARG TORCH_INDEX=""

RUN apt-get update \
    && apt-get install -y --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --no-create-home --shell /usr/sbin/nologin longhand

ENV PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    HOST=0.0.0.0 \
    PORT=8000

WORKDIR /srv/longhand

# What set-up reads comes first, so that a change of code does not install everything again.
COPY Makefile pyproject.toml README.md LICENSE package.json package-lock.json .npmrc ./
RUN make install NPM_FLAGS="--omit=dev --cache=/tmp/npm" TORCH_INDEX="${TORCH_INDEX}" && rm -rf /tmp/npm

COPY . .
RUN python -m compileall -q app engine && mkdir -p var && chown longhand var

USER longhand
EXPOSE 8000

HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD [".venv/bin/python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ['PORT'] + '/healthz', timeout=4)"]

CMD ["make", "serve"]
