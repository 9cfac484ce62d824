# The app on a CPU. It serves 127.0.0.1 alone, so the container shares the host's network:
#   docker build -t ordinate .
#   docker run --rm --network host -v "$PWD/runs:/work/runs" ordinate
# With --build-arg PIP_EXTRA_INDEX_URL=<PyTorch's index of CPU builds>, pip installs the build without CUDA, which is
# a tenth in size.
FROM python:3.11-slim
ARG PIP_EXTRA_INDEX_URL
COPY . /src
RUN pip install --no-cache-dir --constraint /src/constraints.txt '/src[app]'
WORKDIR /work
CMD ["ordinate", "app", "--no-browser"]
